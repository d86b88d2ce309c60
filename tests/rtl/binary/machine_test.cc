// Compares a whole machine with the cycle level: random programs one after the other, with the same
// bits, and without stalls the same cycles.
#include "Vbinary_machine.h"
#include "Vbinary_machine_shared.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/binary/simulate/cycle/cycle.h"
#include "tests/rtl/support.h"
#include "tests/targets/binary/simulate/random_program.h"

namespace kiln::rtl {
namespace {

// The design point of the model `binary_machine`, whose first stage has two requantisers, and of
// `binary_machine_shared`, whose first stage has one for four columns.
binary::Config TwoStages(int columns_per_requantiser) {
  binary::Config config;
  config.name = "two";
  config.stages = 2;
  config.channels_0 = 8;
  config.channels_1 = 4;
  config.columns_0 = 4;
  config.columns_1 = 1;
  config.columns_per_requantiser = columns_per_requantiser;
  config.group = 3;
  config.steps = 2;
  config.column_depth = 4;
  config.row_words = 64;
  config.weight_words = 128;
  config.skip_beats = 32;
  config.beat_bytes = 8;
  return config;
}

template <typename Model>
class MachineRun {
 public:
  explicit MachineRun(uint64_t seed) : sim_(seed) {
    sim_->in_tvalid = sim_->out_tready = 0;
    sim_.Reset();
    sim_.Step();  // AXI4-Stream allows no beat in the cycle after the reset
  }

  // Sends a stream, and sets the beats that come and the cycles from the first beat in to the last
  // one out. Fails if there are more than `wanted` bytes.
  void Run(const std::vector<uint8_t>& stream, size_t wanted, double stall, uint64_t seed) {
    Stalls in_stalls(2 * seed, stall, Stalls::Kind::kBursts),
        out_stalls(2 * seed + 1, stall, Stalls::Kind::kBursts);
    out_.clear();
    size_t sent = 0;
    bool offered = false;
    int64_t first = -1, last = -1;
    for (int64_t cycle = 0, quiet = 0; quiet < 30; ++cycle) {
      ASSERT_LT(cycle, 400000) << out_.size() << " of " << wanted << " bytes";
      offered = sent < stream.size() && (offered || !in_stalls.Next());
      sim_->in_tvalid = offered;
      if (offered) std::memcpy(&sim_->in_tdata, &stream[sent], 8);
      sim_->out_tready = !out_stalls.Next();
      sim_.Settle();
      if (offered && sim_->in_tready) {
        if (first < 0) first = cycle;
        sent += 8;
        offered = false;
      }
      if (sim_->out_tvalid && sim_->out_tready) {
        const auto* beat = reinterpret_cast<const uint8_t*>(&sim_->out_tdata);
        out_.insert(out_.end(), beat, beat + 8);
        last = cycle;
      }
      if (sent == stream.size() && out_.size() >= wanted) ++quiet;
      sim_.Step();
    }
    cycles_ = last - first + 1;
  }

  Simulation<Model> sim_;
  std::vector<uint8_t> out_;
  int64_t cycles_ = 0;
};

template <typename Model>
void Compare(int columns_per_requantiser, int programs, double stall, uint64_t seed) {
  Random random(seed);
  MachineRun<Model> machine(seed);
  for (int i = 0; i < programs; ++i) {
    const binary::RandomBlock block =
        binary::MakeRandomBlock(TwoStages(columns_per_requantiser), random);
    SCOPED_TRACE("program " + std::to_string(i) + "\n" + binary::Print(block.program));
    std::vector<uint8_t> stream;
    binary::AppendLoad(block.program, &stream);
    binary::AppendRun(block.program, block.records, &stream);
    const auto timed = binary::RunCycle(block.program, block.records);
    ASSERT_TRUE(timed.ok()) << timed.status();
    machine.Run(stream, static_cast<size_t>(8 * binary::BeatsOut(block.program)), stall,
                seed + static_cast<uint64_t>(i));
    if (::testing::Test::HasFatalFailure()) return;
    const auto results = binary::SplitResults(block.program, machine.out_);
    ASSERT_TRUE(results.ok()) << results.status();
    ASSERT_EQ(*results, timed->results);
    if (stall == 0) {
      ASSERT_EQ(machine.cycles_, timed->trace.cycles);
    }
  }
}

TEST(BinaryMachine, AgreesWithoutStalls) { Compare<Vbinary_machine>(2, 60, 0, 1); }
TEST(BinaryMachine, AgreesBehindStalls) { Compare<Vbinary_machine>(2, 40, 0.5, 1000); }
TEST(BinaryMachine, AgreesWithOneRequantiser) {
  Compare<Vbinary_machine_shared>(4, 30, 0, 2000);
  Compare<Vbinary_machine_shared>(4, 20, 0.5, 3000);
}

}  // namespace
}  // namespace kiln::rtl
