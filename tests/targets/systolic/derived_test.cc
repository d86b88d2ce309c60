// The sizes of config/derived.h are those that Yosys finds in the RTL.
#include "kiln/targets/systolic/config/derived.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "fmt/format.h"
#include "kiln/targets/systolic/config/keys.h"
#include "kiln/targets/systolic/cost/area_counts.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "tests/targets/elaborated.h"

namespace kiln::systolic {
namespace {

constexpr const char* kSmallPoint =
    "family: systolic\nname: small\narray_rows: 4\narray_columns: 2\nweight_buffer_words: 24\n"
    "input_buffer_words: 100\naccumulation_buffer_words: 33\ndepthwise_multipliers: 2\n"
    "depthwise_buffer_words: 77\ndepthwise_words_per_cycle: 4\nvector_stages: 1\n"
    "memory_latency: 11\ncommand_queue_depth: 3\n";
constexpr const char* kScaled =
    "family: systolic\nname: scaled\narray_rows: 2\narray_columns: 8\ninput_format: e4m3\n"
    "weight_format: bf16\nother_precisions:\n  - {input: e5m2, weight: fp16}\nblock_size: 8\n"
    "weight_buffer_words: 3\ninput_buffer_words: 16\ndepthwise_multipliers: 0\n"
    "depthwise_buffer_words: 300\nvector_stages: 2\nmemory_latency: 40\n"
    "command_queue_depth: 7\n";

// Words of several scale blocks, in lanes that read copies; and scale blocks of several words.
constexpr const char* kWide =
    "family: systolic\nname: wide\narray_rows: 2\narray_columns: 32\ninput_format: e4m3\n"
    "weight_format: e4m3\nblock_size: 8\nweight_buffer_words: 32\noutput_port_bytes: 8\n"
    "depthwise_multipliers: 0\nvector_stages: 2\n";
constexpr const char* kNarrow =
    "family: systolic\nname: narrow\narray_rows: 4\narray_columns: 4\ninput_format: e4m3\n"
    "weight_format: e4m3\nblock_size: 32\nweight_buffer_words: 32\noutput_port_bytes: 8\n"
    "depthwise_multipliers: 0\nvector_stages: 2\nvector_stage_latency: 5\n";

constexpr std::array<const char*, 4> kPointNames = {"small", "scaled", "wide", "narrow"};

class SystolicDerived : public testing::TestWithParam<const char*> {};

TEST_P(SystolicDerived, SizesAreTheRtls) {
  const auto config = ParseConfig(GetParam(), "design.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const Config& c = *config;
  hardware::Elaborated rtl;
  rtl.Read(hardware::SystemVerilogOf(TopOf(c)), {"kiln_systolic", "kiln_scale_ports"});
  if (HasFatalFailure()) return;
  const auto of = [&](const char* instance, const char* parameter) {
    return rtl.Parameter("kiln_systolic", instance, parameter);
  };
  EXPECT_EQ(PrefetchWords(c), of("command_processor", "PREFETCH_WORDS"));
  EXPECT_EQ(ProgramSlots(c), of("command_processor", "SLOTS"));
  EXPECT_EQ(ProgramSlots(c), of("vector", "SLOTS"));
  for (const char* channel :
       {"input_channel", "weight_channel", "operand_channel", "output_channel"}) {
    EXPECT_EQ(OutstandingRequests(c), of(channel, "OUTSTANDING")) << channel;
  }
  EXPECT_EQ(InputRequestBytes(c), of("input_channel", "MAX_BYTES"));
  EXPECT_EQ(WeightRequestBytes(c), of("weight_channel", "MAX_BYTES"));
  EXPECT_EQ(VectorWordBytes(c), of("operand_channel", "MAX_BYTES"));
  EXPECT_EQ(VectorWordBytes(c), of("output_channel", "MAX_BYTES"));
  EXPECT_EQ(InputTagBits(c), of("input_channel", "TAG_BITS"));
  EXPECT_EQ(WeightTagBits(c), of("weight_channel", "TAG_BITS"));
  EXPECT_EQ(OperandPortTagBits(c), of("operand_channel", "TAG_BITS"));
  EXPECT_EQ(kOperandTagBits, of("operand_share", "A_TAG_BITS"));
  EXPECT_EQ(kAddressBits, rtl.WireBits("kiln_systolic", "input_araddr"));
  EXPECT_EQ(8 * kScalePortBytes, rtl.WireBits("kiln_systolic", "input_scale_rdata"));
  EXPECT_EQ(c.input_bits(), of("input_fetch", "INPUT_BITS"));
  EXPECT_EQ(c.weight_bits(), of("weight_fetch", "WEIGHT_BITS"));
  if (c.block_size == 0) return;
  const auto of_scales = [&](const char* port, const char* parameter) {
    return rtl.Parameter("kiln_scale_ports", port, parameter);
  };
  EXPECT_EQ(InputScaleTagBits(c), of_scales("g_ports.input_scale_channel", "TAG_BITS"));
  EXPECT_EQ(WeightScaleTagBits(c), of_scales("g_ports.weight_scale_channel", "TAG_BITS"));
  EXPECT_EQ(kOperandScaleTagBits, of_scales("g_ports.operand_scale_channel", "TAG_BITS"));
  EXPECT_EQ(OutstandingRequests(c), of_scales("g_ports.input_scale_channel", "OUTSTANDING"));
}

TEST_P(SystolicDerived, WordsInTheVectorUnitAreTheRtls) {
  const auto config = ParseConfig(GetParam(), "design.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const Config& c = *config;
  hardware::Elaborated rtl;
  rtl.Read(hardware::SystemVerilogOf(TopOf(c)),
           {"kiln_systolic", "kiln_vector_unit", "kiln_vector_issue", "kiln_vector_stage",
            "kiln_operand_buffer", "kiln_vector_blocks", "kiln_command_processor",
            "kiln_performance_counters"});
  if (HasFatalFailure()) return;
  EXPECT_EQ(WordsInLanes(c), rtl.Parameter("kiln_vector_unit", "departures", "DEPTH"));
  EXPECT_EQ(kDepartureBits, rtl.Parameter("kiln_vector_unit", "departures", "WIDTH"));
  EXPECT_EQ(kCounterWords,
            rtl.Parameter("kiln_performance_counters", "g_counters.memory", "WORDS"));
  EXPECT_EQ(kCounterBits, rtl.Parameter("kiln_performance_counters", "g_counters.memory", "WIDTH"));
  EXPECT_EQ(kWordBits + (c.block_size > 0 ? kMarkBits : 0),
            rtl.Parameter("kiln_vector_issue", "storage", "WIDTH"));
  EXPECT_EQ(OperandEntries(c), rtl.Parameter("kiln_vector_issue", "storage", "WORDS"));
  EXPECT_EQ(OperandEntries(c), rtl.Parameter("kiln_operand_buffer", "first", "WORDS"));
  const auto number = static_cast<int64_t>(NumberBits(c.vector_format));
  EXPECT_EQ((c.lanes() + 1) * number, rtl.Parameter("kiln_operand_buffer", "first", "WIDTH"));
  const bool one_copy = c.lanes() == LanesOfCopy(c);
  EXPECT_EQ(TargetBits(c) + (one_copy ? InverseBits(c, number) : 0),
            rtl.Parameter("kiln_vector_unit", "targets", "WIDTH"));
  EXPECT_EQ(ProgramSlots(c), rtl.Parameter("kiln_vector_unit", "targets", "WORDS"));
  EXPECT_EQ(kStageControlBits + 2 * static_cast<int>(NumberBits(c.vector_format)),
            rtl.Parameter("kiln_vector_stage", "configurations", "WIDTH"));
  EXPECT_EQ(ProgramSlots(c) * kMaxPasses,
            rtl.Parameter("kiln_vector_stage", "configurations", "WORDS"));
  EXPECT_EQ(rtl.Parameter("kiln_vector_issue", "lengths", "WIDTH"), 32);
  EXPECT_EQ(c.operand_buffer_words + 2, rtl.Parameter("kiln_vector_issue", "lengths", "DEPTH"));
  if (!one_copy) {
    const std::string last =
        fmt::format("g_inverses.g_copy[{}].copy", c.lanes() / LanesOfCopy(c) - 1);
    EXPECT_EQ(rtl.Parameter("kiln_vector_unit", last.c_str(), "WIDTH"), InverseBits(c, number));
    EXPECT_EQ(ProgramSlots(c), rtl.Parameter("kiln_vector_unit", last.c_str(), "WORDS"));
  }
  if (c.block_size == 0) return;
  EXPECT_EQ(rtl.Parameter("kiln_vector_issue", "g_blocks.slots", "WIDTH"), 16);
  EXPECT_EQ(c.operand_buffer_words + 2,
            rtl.Parameter("kiln_vector_issue", "g_blocks.slots", "DEPTH"));
  EXPECT_EQ(kMarkBits, rtl.Parameter("kiln_vector_unit", "g_blocks.marks_in_lanes", "WIDTH"));
  EXPECT_EQ(WaitingWords(c), rtl.Parameter("kiln_vector_blocks", "waiting", "DEPTH"));
  EXPECT_EQ(WaitingWordBits(c, number), rtl.Parameter("kiln_vector_blocks", "waiting", "WIDTH"));
}

INSTANTIATE_TEST_SUITE_P(DesignPoints, SystolicDerived,
                         testing::Values(kSmallPoint, kScaled, kWide, kNarrow),
                         [](const auto& info) { return kPointNames[info.index]; });

TEST(SystolicKeys, GiveAllParametersOfTheMachine) {
  hardware::ExpectKeysGiveAllParameters("rtl/systolic/kiln_systolic.sv",
                                        Keys().RtlParameters(Config()));
}

}  // namespace
}  // namespace kiln::systolic
