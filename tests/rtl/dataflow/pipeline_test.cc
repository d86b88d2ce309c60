// Compares a small machine with models of its stages and channels in every cycle: the handshakes of
// both streams, every word, and the level of every channel.
#include <array>
#include <map>

#include "Vpipeline_bench.h"
#include "tests/rtl/dataflow/ports.h"
#include "tests/rtl/dataflow/stage_model.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

StageParameters Parameters(const std::map<Parameter, int64_t>& set) {
  StageParameters p;
  for (const Parameter one : {kOH, kOW, kKY, kKX, kSY, kSX, kDY, kDX, kG, kOG, kIG, kLanes,
                              kOutputs, kResultLanes, kInSigned, kPack, kWay, kLevels}) {
    p.values[one] = 1;
  }
  for (const Parameter bits : {kInBits, kWeightBits, kOutBits, kThresholdBits}) p.values[bits] = 8;
  p.values[kH] = p.values[kW] = 4;
  p.values[kCBits] = 52;
  p.values[kLow] = -128;
  p.values[kHigh] = 127;
  for (const auto& [parameter, value] : set) p.values[parameter] = value;
  return p;
}

// Makes the model of a convolution or a pool, and its files.
StageModel MakeStage(const StageParameters& p, const std::string& name, Random& random) {
  Requantiser requantiser(p, random);
  std::vector<Word> weights;
  std::vector<std::vector<uint8_t>> contents;
  for (int64_t w = 0; w < p.WeightWords(); ++w) {
    weights.push_back(RandomWord(random, static_cast<size_t>(p.WeightCodes()), 8, true));
    contents.push_back(Pack(weights.back(), 8));
  }
  WriteHex(name + "_weights.hex", contents);
  requantiser.WriteFiles(name + "_constants");
  return {p, requantiser, weights};
}

void AgreesInEveryCycle(double in_stall, double out_stall, double run_stall, uint64_t seed) {
  const ConstantsFolder folder;
  Random random(seed);
  StageModel extract = MakeStage(Parameters({{kOH, 4},
                                             {kOW, 4},
                                             {kKY, 3},
                                             {kKX, 3},
                                             {kPT, 1},
                                             {kPL, 1},
                                             {kIG, 2},
                                             {kOutputs, 4},
                                             {kResultLanes, 2},
                                             {kPack, 2},
                                             {kShift, 25}}),
                                 "p0", random);
  StageModel mix = MakeStage(Parameters({{kOH, 4},
                                         {kOW, 4},
                                         {kLanes, 2},
                                         {kIG, 2},
                                         {kOG, 2},
                                         {kOutputs, 2},
                                         {kResultLanes, 2},
                                         {kShift, 23}}),
                             "p1", random);
  StageModel pool = MakeStage(Parameters({{kKind, 2},
                                          {kOH, 2},
                                          {kOW, 2},
                                          {kKY, 2},
                                          {kKX, 2},
                                          {kSY, 2},
                                          {kSX, 2},
                                          {kLanes, 2},
                                          {kIG, 2}}),
                              "p2", random);
  std::array<ChannelModel, 7> channels = {
      ChannelModel(2, 1), ChannelModel(4, 2), ChannelModel(2, 1), ChannelModel(24, 1),
      ChannelModel(2, 1), ChannelModel(8, 1), ChannelModel(4, 1)};
  auto& [image, features, branch, shortcut, mixed, added, pooled] = channels;
  std::map<int64_t, Word> sums;  // of the addition, by the cycle of their push

  Simulation<Vpipeline_bench> machine(seed);
  Source<int64_t> source(Stalls(seed + 1, in_stall, Stalls::Kind::kBursts));
  Stalls out(seed + 2, out_stall, Stalls::Kind::kBursts);
  Stalls stop(seed + 3, run_stall, Stalls::Kind::kBursts);
  for (int i = 0; i < 12 * 32; ++i) source.Push(RandomCode(random, 8, true));
  machine->run = 0;
  machine->in_tvalid = machine->out_tready = 0;
  machine.Reset();
  int beats_out = 0;
  for (int64_t cycle = 0; beats_out < 12 * 8; ++cycle) {
    ASSERT_LT(cycle, 20000);
    source.Drive();
    machine->run = !stop.Next();
    machine->in_tvalid = source.Valid();
    machine->in_tdata = source.Valid() ? static_cast<uint8_t>(source.Item()) : 0x5a;
    machine->out_tready = !out.Next();
    machine.Settle();

    for (size_t i = 0; i < channels.size(); ++i) {
      ASSERT_EQ(GetSlot(machine->levels, i, 1)[0], channels[i].Level())
          << "channel " << i << ", cycle " << cycle;
    }
    ASSERT_EQ(machine->in_tready, machine->run && image.Room());
    ASSERT_EQ(machine->out_tvalid, pooled.Valid()) << "cycle " << cycle;
    if (pooled.Valid()) {
      const std::vector<uint8_t> word = Pack(pooled.Front(), 8);
      ASSERT_EQ(machine->out_tdata, word[0] | word[1] << 8) << "beat " << beats_out;
    }

    const auto act = [](StageModel& stage, ChannelModel& from, ChannelModel& to) {
      const auto done = stage.Cycle({from.Valid() ? &from.Front() : nullptr, nullptr, to.Room()});
      if (done.pop) from.Pop();
      if (done.reserve) to.Reserve();
      if (done.push) to.Push(done.data);
    };
    act(extract, image, features);
    act(mix, branch, mixed);
    act(pool, added, pooled);
    if (features.Valid() && branch.Room() && shortcut.Room()) {
      for (ChannelModel* to : {&branch, &shortcut}) {
        to->Reserve();
        to->Push(features.Front());
      }
      features.Pop();
    }
    if (mixed.Valid() && shortcut.Valid() && added.Room()) {
      Word sum;
      for (size_t l = 0; l < 2; ++l) {
        const int64_t scaled = 3000 * mixed.Front()[l] - 2500 * shortcut.Front()[l] + 2048;
        sum.push_back(std::clamp<int64_t>(scaled >> 12, -128, 127));
      }
      sums[cycle + 5] = sum;
      added.Reserve();
      mixed.Pop();
      shortcut.Pop();
    }
    if (sums.count(cycle) != 0) added.Push(sums[cycle]);
    const int64_t code = source.Valid() ? source.Item() : 0;
    if (source.Taken(machine->in_tready != 0)) {
      image.Reserve();
      image.Push({code});
    }
    if (machine->out_tvalid && machine->out_tready) {
      pooled.Pop();
      ++beats_out;
    }
    for (ChannelModel& channel : channels) channel.EndCycle();
    machine.Step();
  }
}

TEST(Pipeline, AgreesWithItsStagesInEveryCycle) {
  AgreesInEveryCycle(0, 0, 0, 1);
  AgreesInEveryCycle(0.5, 0.5, 0, 2);
  AgreesInEveryCycle(0, 0.7, 0.2, 3);
  AgreesInEveryCycle(0.7, 0, 0.1, 4);
}

}  // namespace
}  // namespace kiln::rtl
