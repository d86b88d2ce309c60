// Compares convolution, depthwise and maximum pool stages with a reference of the document
// (stage_model.h): every handshake and every word in every cycle, with and without stalls on all
// channels, over several frames; and the cycles of a frame at full speed.
#include <memory>

#include "Vwindow_bench.h"
#include "Vwindow_netlist.h"
#include "tests/rtl/dataflow/ports.h"
#include "tests/rtl/dataflow/stage_model.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr size_t kDataBytes = 8, kWeightBytes = 40;

template <typename Model>
constexpr size_t kStages = 0;
template <>
constexpr size_t kStages<Vwindow_bench> = 28;
template <>
constexpr size_t kStages<Vwindow_netlist> = 2;

// The netlist holds the constants that Yosys has read: none, so that they are all zero.
template <typename Model>
constexpr bool kHasFiles = !std::is_same_v<Model, Vwindow_netlist>;

// Returns the parameters of all stages of the bench.
template <typename Model>
std::vector<StageParameters> ReadParameters() {
  // The files of constants must exist when a model begins.
  for (size_t i = 0; kHasFiles<Model> && i < kStages<Model>; ++i) {
    const std::string name = "w" + std::to_string(100 + i).substr(1);
    WriteHex(name + "_weights.hex", {{0}});
    WriteHex(name + "_constants", {{0}});
    for (int file = 0; file < 8 * 4; ++file) {
      WriteHex(name + "_constants_" + std::to_string(file / 4) + "_00" + std::to_string(file % 4) +
                   ".hex",
               {{0}});
    }
  }
  Simulation<Model> bench;
  std::vector<StageParameters> all(kStages<Model>);
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t p = 0; p < kParameters; ++p) {
      const std::vector<uint8_t> bytes = GetSlot(bench->parameters, i * kParameters + p, 4);
      int32_t value = 0;
      std::memcpy(&value, bytes.data(), 4);
      all[i].values[p] = value;
    }
  }
  return all;
}

// What surrounds a stage: channels with random depths, and stalls at their other ends.
struct Stage {
  StageParameters p;
  StageModel model;
  ChannelModel in, weights, out;
  Stalls in_stalls, weight_stalls, out_stalls;
  Random random;
  std::vector<uint64_t> frame_ends;  // cycles of the last push of each frame
  int64_t pushes = 0;
};

Word RandomWeights(const StageParameters& p, Random& random) {
  Word word(static_cast<size_t>(p.WeightCodes()));
  for (int64_t& code : word) {
    code = p[kWeightBits] == 1 ? random.Between(0, 1) * 2 - 1
                               : RandomCode(random, static_cast<int>(p[kWeightBits]), true);
  }
  return word;
}

std::vector<uint8_t> PackWeights(const StageParameters& p, Word word) {
  for (int64_t& code : word) {
    code = p[kWeightBits] == 1 ? (code + 1) / 2 : code;
  }
  return Pack(word, static_cast<int>(p[kWeightBits]));
}

struct Setting {
  double in_stall = 0, weight_stall = 0, out_stall = 0;
  bool deep = false;  // channels that are never the reason to wait
  uint64_t seed = 1;
};

// Makes the stage and its files.
std::unique_ptr<Stage> MakeStage(const StageParameters& p, size_t i, bool has_files,
                                 const Setting& setting) {
  const uint64_t seed = setting.seed * 1000 + i * 10;
  Random random(seed);
  Requantiser requantiser(p, random);
  std::vector<Word> weights;
  std::vector<std::vector<uint8_t>> contents;
  for (int64_t w = 0; w < p.WeightWords(); ++w) {
    weights.push_back(RandomWeights(p, random));
    contents.push_back(PackWeights(p, weights.back()));
  }
  if (!has_files) {
    requantiser.ClearConstants();
  } else if (p[kKind] != 2) {
    const std::string name = "w" + std::to_string(100 + i).substr(1);
    requantiser.WriteFiles(name + "_constants");
    WriteHex(name + "_weights.hex", contents);
  }
  const auto results = static_cast<size_t>(p[kKind] == 0 ? p.ResultWords() : 1);
  const size_t in_depth = setting.deep ? 64 : 1 + random.Below(4);
  const size_t weight_depth = setting.deep ? 64 : 1 + random.Below(4);
  const size_t out_depth = setting.deep ? 512 : results + random.Below(8);
  return std::make_unique<Stage>(
      Stage{p,
            StageModel(p, std::move(requantiser), std::move(weights)),
            ChannelModel(in_depth, 1),
            ChannelModel(weight_depth, 1),
            ChannelModel(out_depth, results),
            Stalls(seed + 1, setting.in_stall, Stalls::Kind::kBursts),
            Stalls(seed + 2, setting.weight_stall, Stalls::Kind::kBursts),
            Stalls(seed + 3, setting.out_stall, Stalls::Kind::kBursts),
            Random(seed + 4),
            {},
            0});
}

// Runs all stages for some frames and compares them with their models. Returns the cycles between
// the ends of the last two frames of each stage.
template <typename Model>
std::vector<uint64_t> CyclesOf(const std::vector<StageParameters>& all, const Setting& setting,
                               size_t frames) {
  std::vector<std::unique_ptr<Stage>> stages;
  for (size_t i = 0; i < all.size(); ++i) {
    stages.push_back(MakeStage(all[i], i, kHasFiles<Model>, setting));
  }
  Simulation<Model> bench(setting.seed);
  std::memset(&bench->in_valid, 0, sizeof bench->in_valid);
  std::memset(&bench->out_room, 0, sizeof bench->out_room);
  std::memset(&bench->weights_valid, 0, sizeof bench->weights_valid);
  bench.Reset();
  const auto done = [&](const auto& stage) { return stage->frame_ends.size() >= frames; };
  while (!std::all_of(stages.begin(), stages.end(), done)) {
    if (bench.Cycle() > 100000) {
      ADD_FAILURE() << "stuck";
      return {};
    }
    for (size_t i = 0; i < stages.size(); ++i) {
      Stage& s = *stages[i];
      const StageParameters& p = s.p;
      const auto lanes = static_cast<size_t>(p[kLanes]);
      const Word garbage = RandomWord(s.random, lanes, static_cast<int>(p[kInBits]), true);
      SetBit(bench->in_valid, i, s.in.Valid());
      SetSlot(bench->in_data, i, kDataBytes,
              Pack(s.in.Valid() ? s.in.Front() : garbage, static_cast<int>(p[kInBits])));
      SetBit(bench->weights_valid, i, s.weights.Valid());
      if (s.weights.Valid()) {
        SetSlot(bench->weights_data, i, kWeightBytes, PackWeights(p, s.weights.Front()));
      }
      SetBit(bench->out_room, i, s.out.Room());
    }
    bench.Settle();
    for (size_t i = 0; i < stages.size(); ++i) {
      Stage& s = *stages[i];
      const StageParameters& p = s.p;
      const StageModel::Outputs expected =
          s.model.Cycle({s.in.Valid() ? &s.in.Front() : nullptr,
                         s.weights.Valid() ? &s.weights.Front() : nullptr, s.out.Room()});
      EXPECT_EQ(GetBit(bench->in_pop, i), expected.pop);
      EXPECT_EQ(GetBit(bench->weights_pop, i), expected.weights_pop);
      EXPECT_EQ(GetBit(bench->out_reserve, i), expected.reserve);
      EXPECT_EQ(GetBit(bench->out_push, i), expected.push);
      if (expected.push) {
        std::vector<uint8_t> bytes = Pack(expected.data, static_cast<int>(p[kOutBits]));
        bytes.resize(kDataBytes);
        EXPECT_EQ(GetSlot(bench->out_data, i, kDataBytes), bytes)
            << "word " << s.pushes << ": " << ::testing::PrintToString(expected.data);
        const int64_t image =
            p[kOH] * p[kOW] * (p[kKind] == 0 ? p.OutChannels() / p[kResultLanes] : p.CG());
        if (++s.pushes % image == 0) s.frame_ends.push_back(bench.Cycle());
      }
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << "stage " << i << ", cycle " << bench.Cycle();
        return {};
      }

      // The other ends of the channels.
      if (s.in.Room() && !s.in_stalls.Next()) {
        s.in.Reserve();
        s.in.Push(RandomWord(s.random, static_cast<size_t>(p[kLanes]), static_cast<int>(p[kInBits]),
                             p[kInSigned] != 0));
      }
      if (p[kStreamed] != 0 && s.weights.Room() && !s.weight_stalls.Next()) {
        s.weights.Reserve();
        s.weights.Push(RandomWeights(p, s.random));
      }
      if (s.out.Valid() && !s.out_stalls.Next()) s.out.Pop();
      if (expected.pop) s.in.Pop();
      if (expected.weights_pop) s.weights.Pop();
      if (expected.reserve) s.out.Reserve();
      if (expected.push) s.out.Push(expected.data);
      s.in.EndCycle();
      s.weights.EndCycle();
      s.out.EndCycle();
    }
    bench.Step();
  }
  std::vector<uint64_t> cycles;
  for (const auto& stage : stages) {
    cycles.push_back(stage->frame_ends[frames - 1] - stage->frame_ends[frames - 2]);
  }
  return cycles;
}

template <typename Model>
void AgreesUnderStalls() {
  const ConstantsFolder folder;
  const std::vector<StageParameters> all = ReadParameters<Model>();
  for (const Setting& setting : {Setting{0.5, 0.5, 0.5, false, 1}, Setting{0, 0, 0.6, false, 2},
                                 Setting{0.6, 0, 0, false, 3}, Setting{0, 0.6, 0.1, false, 4},
                                 Setting{0, 0, 0, false, 5}, Setting{0.1, 0.1, 0.1, true, 6}}) {
    CyclesOf<Model>(all, setting, 4);
    if (::testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(WindowStages, AgreeWithTheDocumentInEveryCycle) { AgreesUnderStalls<Vwindow_bench>(); }

TEST(WindowStages, YosysReadsTheConvolutionAlike) { AgreesUnderStalls<Vwindow_netlist>(); }

TEST(WindowStages, TakeTheCyclesOfAFrame) {
  const ConstantsFolder folder;
  const std::vector<StageParameters> all = ReadParameters<Vwindow_bench>();
  const std::vector<uint64_t> cycles = CyclesOf<Vwindow_bench>(all, {.deep = true, .seed = 7}, 8);
  for (size_t i = 0; i < cycles.size(); ++i) {
    const auto least = static_cast<uint64_t>(all[i].FrameCycles());
    const bool same_rows = all[i][kOH] == all[i][kH] && all[i][kSY] == 1;
    EXPECT_GE(cycles[i], least) << "stage " << i;
    if (all[i].Pointwise() || same_rows || all[i][kExtraRows] > 0) {
      EXPECT_EQ(cycles[i], least) << "stage " << i;
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
