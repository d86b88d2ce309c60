// Compares kiln_parameter_fetch and its kiln_parameter_buffer with the definition of their work
// (docs/systolic.md, walk.h, FetchParameters of cycle_data.h).
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "Vparameter_buffer.h"
#include "Vparameter_fetch_3.h"
#include "Vparameter_fetch_4.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"
#include "kiln/targets/systolic/simulate/cycle/cycle_data.h"
#include "tests/rtl/systolic/commands.h"
#include "tests/rtl/systolic/fetch_bench.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln::systolic {
namespace {

using rtl::Tag;

// The sets of an instruction, spelled out from the definition. Lane i of column tile c of array a
// is element (c * 3 + a) * C + i.
std::vector<FetchFill> SetsOf(const RandomCase& random_case, const Config& config) {
  const Instruction& in = random_case.instruction;
  const Convolution& conv = in.convolution;
  std::vector<uint8_t> bytes = random_case.memory;
  OuterMemory memory{std::span<uint8_t>(bytes)};
  const auto lanes = static_cast<size_t>(config.array_columns);
  std::vector<FetchFill> sets;
  for (const Visit& visit : VisitsOf(in, config)) {
    if (!visit.fetch_parameters) continue;
    FetchFill& set = sets.emplace_back();
    set.exact = false;  // lanes beyond the valid channels are written, too
    ParameterBank bank;
    FetchParameters(in, config, visit, memory, bank);
    for (int32_t c = 0; c < visit.columns; ++c) {
      const int32_t tile = visit.first_column + c;
      const auto channels = static_cast<size_t>(ValidColumns(in, config, tile));
      for (size_t array = 0; array < 3; ++array) {
        const int64_t offset = visit.batch * conv.parameter_batch_stride +
                               static_cast<int64_t>(array) * conv.out_channels * 4 +
                               int64_t{tile} * config.array_columns * 4;
        set.requests.push_back({conv.parameters.base + static_cast<uint64_t>(offset),
                                static_cast<int64_t>(channels) * 4});
        for (size_t i = 0; i < channels; ++i) {
          const size_t at = static_cast<size_t>(c) * lanes + i;
          const uint32_t bits = array == 0   ? static_cast<uint32_t>(bank.offset[at])
                                : array == 1 ? std::bit_cast<uint32_t>(bank.scale[at])
                                             : std::bit_cast<uint32_t>(bank.bias[at]);
          set.contents.emplace_back((static_cast<size_t>(c) * 3 + array) * lanes + i, bits);
        }
      }
    }
    EXPECT_EQ(CyclesOf(set.requests, config.operand_port_bytes),
              ParameterFetchCycles(in, config, visit));
  }
  EXPECT_TRUE(memory.fault().empty()) << memory.fault();
  return sets;
}

template <typename M>
struct ParameterFetch {
  using Model = M;
  static constexpr int kBuffers = 1, kBanks = 1;
  static constexpr int64_t kRequestCycles = 0;
  static constexpr size_t kScaleBytes = 0;
  static void SetWait(Model& unit, uint16_t count) { unit.vector_done = count; }
  static void SetReleased(Model& unit, int /*buffer*/, bool on) { unit.released = on; }
  static bool WaitsForCount(const Model& unit) { return unit.stalled_port; }
  static bool WaitsForBank(const Model& unit) { return unit.stalled_buffer; }
  static bool Filled(const Model& unit, int /*buffer*/) { return unit.filled; }
  template <typename Put>
  void ForWrites(const Model& unit, const Config& config, const Put& put) {
    const auto lanes = static_cast<size_t>(config.array_columns);
    for (size_t i = 0; unit.write_enable && i < lanes; ++i) {
      put(0, 0, (unit.write_address * size_t{3} + unit.write_array) * lanes + i,
          LaneOf(unit.write_data, i, 32));
    }
  }
};

Config ConfigOf(int columns, int port_bytes) {
  Config config;
  config.array_rows = 2;
  config.array_columns = columns;
  config.input_buffer_words = 100;
  config.depthwise_buffer_words = 77;
  config.weight_buffer_words = 32;
  config.accumulation_buffer_words = config.parameter_buffer_words = 21;
  config.depthwise_multipliers = 3;
  config.operand_port_bytes = port_bytes;
  config.memory_latency = 5;
  return config;
}

template <typename Model>
void Check(const Config& config, double stalls, uint64_t seed) {
  constexpr int kInstructions = 300;
  FetchBench<ParameterFetch<Model>> bench(config, config.operand_port_bytes,
                                          static_cast<size_t>(config.array_columns) * 4, stalls,
                                          seed);
  Random random(seed);
  int64_t sets_seen = 0, shared = 0;
  for (int n = 0; n < kInstructions; ++n) {
    const Opcode opcode = random.Below(4) == 0 ? Opcode::kDepthwise : Opcode::kMatrix;
    const RandomCase random_case = RandomInstruction(random, config, opcode);
    const Instruction& in = random_case.instruction;
    ASSERT_TRUE(CheckInstruction(in, config).ok());
    const std::vector<FetchFill> sets = SetsOf(random_case, config);
    bench.Run(rtl::CommandBytes(Encode(in, config), {static_cast<uint64_t>(n)},
                                {Tag::kHeader, Tag::kTiling, Tag::kParameters}),
              static_cast<uint32_t>(n), /*distance=*/1, sets, random_case.memory);
    if (testing::Test::HasFatalFailure())
      FAIL() << "instruction " << n << "\n" << Print(in, config);
    sets_seen += std::ssize(sets);
    shared += std::ssize(sets) < CountVisits(in, config) ? 1 : 0;
  }
  EXPECT_GT(sets_seen, 2 * kInstructions);
  EXPECT_GT(shared, kInstructions / 10);
}

TEST(ParameterFetch, IdealMemoryTakesExactlyTheBeats) {
  Check<Vparameter_fetch_4>(ConfigOf(4, 8), 0, 1);
  Check<Vparameter_fetch_3>(ConfigOf(3, 16), 0, 2);
}

TEST(ParameterFetch, StallsChangeNothingInTheBuffer) {
  Check<Vparameter_fetch_4>(ConfigOf(4, 16), 0.4, 3);
  Check<Vparameter_fetch_3>(ConfigOf(3, 8), 0.2, 4);
}

TEST(ParameterBuffer, GivesBackWhatWasWritten) {
  constexpr size_t kWords = 5, kLanes = 2;
  Random random(9);
  rtl::Simulation<Vparameter_buffer> buffer(9);
  uint64_t stored[3][kWords] = {}, read[3] = {};
  bool known[3][kWords] = {}, read_known[3] = {};
  for (int cycle = 0; cycle < 3000; ++cycle) {
    const size_t array = random.Below(3), word = random.Below(kWords), at = random.Below(kWords);
    const uint64_t data = random();
    buffer->write_enable = random.Below(2) == 0;
    buffer->write_array = static_cast<uint8_t>(array);
    buffer->write_address = static_cast<uint8_t>(word);
    buffer->write_data = data;
    buffer->read_enable = random.Below(2) == 0;
    buffer->read_address = static_cast<uint8_t>(at);
    static_assert(sizeof buffer->write_data == 4 * kLanes);
    buffer.Settle();
    const uint64_t out[3] = {buffer->read_offset, buffer->read_scale, buffer->read_bias};
    for (size_t a = 0; a < 3; ++a) {
      if (read_known[a]) {
        ASSERT_EQ(out[a], read[a]) << "cycle " << cycle << " array " << a;
      }
    }
    for (size_t a = 0; buffer->read_enable && a < 3; ++a) {
      read[a] = stored[a][at];
      read_known[a] = known[a][at];
    }
    if (buffer->write_enable) {
      stored[array][word] = data;
      known[array][word] = true;
    }
    buffer.Step();
  }
}

}  // namespace
}  // namespace kiln::systolic
