// The sizes of config/derived.h are those that Yosys finds in the RTL.
#include "kiln/targets/vta/config/derived.h"

#include <gtest/gtest.h>

#include "kiln/targets/vta/config/keys.h"
#include "kiln/targets/vta/emit/emit.h"
#include "tests/targets/elaborated.h"

namespace kiln::vta {
namespace {

constexpr const char* kSmall =
    "family: vta\nname: small\nblock_in: 4\nblock_out: 4\nuop_buffer_bytes: 256\n"
    "input_buffer_bytes: 256\nweight_buffer_bytes: 1024\naccumulator_buffer_bytes: 512\n"
    "memory_latency: 11\ninstruction_queue_depth: 3\n";
constexpr const char* kUneven =
    "family: vta\nname: uneven\ninput_bits: 4\nweight_bits: 16\naccumulator_bits: 16\nbatch: 2\n"
    "block_in: 8\nblock_out: 16\nuop_buffer_bytes: 64\ninput_buffer_bytes: 1024\n"
    "weight_buffer_bytes: 2048\naccumulator_buffer_bytes: 1024\nmemory_port_bytes: 32\n"
    "memory_latency: 40\ninstruction_queue_depth: 9\naccumulator_banks: 2\n";

class VtaDerived : public testing::TestWithParam<const char*> {};

TEST_P(VtaDerived, SizesAreTheRtls) {
  const auto config = ParseConfig(GetParam(), "design.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const Config& c = *config;
  hardware::Elaborated rtl;
  rtl.Read(hardware::SystemVerilogOf(TopOf(c)),
           {"kiln_vta", "kiln_vta_reads", "kiln_vta_compute_stage"});
  if (HasFatalFailure()) return;
  const auto of = [&](const char* instance, const char* parameter) {
    return rtl.Parameter("kiln_vta", instance, parameter);
  };
  EXPECT_EQ(c.uop_index_bits(), of("fetch", "UOP_INDEX_BITS"));
  EXPECT_EQ(c.input_index_bits(), of("fetch", "INPUT_INDEX_BITS"));
  EXPECT_EQ(c.weight_index_bits(), of("fetch", "WEIGHT_INDEX_BITS"));
  EXPECT_EQ(c.accumulator_index_bits(), of("fetch", "ACCUMULATOR_INDEX_BITS"));
  EXPECT_EQ(c.input_element_bytes(), of("load_stage", "INPUT_BYTES"));
  EXPECT_EQ(c.weight_element_bytes(), of("load_stage", "WEIGHT_BYTES"));
  EXPECT_EQ(c.output_element_bytes(), of("store_stage", "OUTPUT_BYTES"));
  EXPECT_EQ(RequestBytesBits(c), of("load_stage", "BYTES_BITS"));
  EXPECT_EQ(kQueueWordBits, of("load_queue", "WIDTH"));
  EXPECT_EQ(ComputeQueueWordBits(c), of("compute_queue", "WIDTH"));
  EXPECT_EQ(OutstandingRequests(c.memory_latency), of("writes", "OUTSTANDING"));
  EXPECT_EQ(kWriteTagBits, of("writes", "TAG_BITS"));
  EXPECT_EQ(kAddressBits, rtl.WireBits("kiln_vta", "memory_araddr"));
  EXPECT_EQ(kInstructionBits, rtl.WireBits("kiln_vta", "hand_instruction"));
  EXPECT_EQ(kNumberBits, rtl.WireBits("kiln_vta", "hand_number"));
  EXPECT_EQ(LongestRequestBytes(c), rtl.Parameter("kiln_vta_reads", "port", "MAX_BYTES"));
  EXPECT_EQ(OutstandingRequests(c.memory_latency),
            rtl.Parameter("kiln_vta_reads", "port", "OUTSTANDING"));
  EXPECT_EQ(kReadTagBits, rtl.Parameter("kiln_vta_reads", "port", "TAG_BITS"));
  EXPECT_EQ(UopBits(c), rtl.Parameter("kiln_vta_compute_stage", "uops", "WIDTH"));
  EXPECT_EQ(c.uops(), rtl.Parameter("kiln_vta_compute_stage", "uops", "WORDS"));
}

INSTANTIATE_TEST_SUITE_P(DesignPoints, VtaDerived, testing::Values(kSmall, kUneven),
                         [](const auto& info) { return info.index == 0 ? "small" : "uneven"; });

TEST(VtaKeys, GiveAllParametersOfTheMachine) {
  hardware::ExpectKeysGiveAllParameters("rtl/vta/kiln_vta.sv", Keys().RtlParameters(Config()));
}

}  // namespace
}  // namespace kiln::vta
