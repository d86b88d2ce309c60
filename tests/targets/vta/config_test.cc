#include "kiln/targets/vta/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/yaml.h"
#include "tests/targets/vta/random_program.h"

namespace kiln::vta {
namespace {

using testing::HasSubstr;

TEST(VtaConfig, TheOriginalsDefault) {
  const auto config =
      ParseOriginalConfig(R"({"TARGET": "sim", "HW_VER": "0.0.2"})", "vta_config.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(SizesOf(*config), "1x16_i8w8a32_15_15_18_17");
  EXPECT_EQ(config->uop_index_bits(), 13);
  EXPECT_EQ(config->input_index_bits(), 11);
  EXPECT_EQ(config->weight_index_bits(), 10);
  EXPECT_EQ(config->accumulator_index_bits(), 11);
  EXPECT_EQ(config->input_element_bytes(), 16);
  EXPECT_EQ(config->weight_element_bytes(), 256);
  EXPECT_EQ(config->accumulator_element_bytes(), 64);
  EXPECT_EQ(config->output_element_bytes(), 16);
}

TEST(VtaConfig, PrintedConfigsReadBack) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const Config config = RandomConfig(random);
    const auto again = ParseConfig(PrintConfig(config), "printed");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintConfig(*again), PrintConfig(config));
    EXPECT_EQ(SizesOf(*again), SizesOf(config));
  }
}

TEST(VtaConfig, ImpossibleCombinationsHaveAReason) {
  const auto of_json = [](std::string_view text) {
    return MessageOf(ParseOriginalConfig(text, "c.json").status());
  };
  EXPECT_THAT(of_json("[]"), HasSubstr("c.json: is no JSON object"));
  EXPECT_THAT(of_json(R"({"LOG_INP_WIDTH": 5})"),
              HasSubstr("key 'LOG_INP_WIDTH': 5 is no logarithm"));
  EXPECT_THAT(of_json(R"({"LOG_BATCH": "x"})"), HasSubstr("a whole number from 0 to 8"));
  EXPECT_THAT(of_json(R"({"LOG_ACC_BUFF_SIZE": 18})"),
              HasSubstr("make a micro-op of 34 bits; at most 32"));
  EXPECT_THAT(of_json(R"({"LOG_UOP_BUFF_SIZE": 19})"), HasSubstr("131072 elements; at most 65536"));
  EXPECT_THAT(of_json(R"({"LOG_BLOCK": 7})"),
              HasSubstr("an element of weights has 16384 bytes; at most 4096"));
  EXPECT_THAT(of_json(R"({"LOG_BLOCK": 0, "LOG_INP_WIDTH": 2})"),
              HasSubstr("has 4 bits, no whole bytes"));
  for (const char* version : {R"("0.0.1")", R"("0.0.20")", "2", "null"}) {
    EXPECT_THAT(of_json(std::string(R"({"HW_VER": )") + version + "}"),
                HasSubstr(std::string("c.json: key 'HW_VER': ") + version +
                          " is another version of the hardware"));
  }

  const auto of_yaml = [](std::string_view keys) {
    return MessageOf(ParseConfig("family: vta\nname: x\n" + std::string(keys), "c.yaml").status());
  };
  EXPECT_THAT(of_yaml("block_in: 12"), HasSubstr("key 'block_in': 12 is not a power of two"));
  EXPECT_THAT(of_yaml("input_bits: 16\naccumulator_bits: 8"),
              HasSubstr("fewer than an output's 16"));
  EXPECT_THAT(of_yaml("input_buffer_bytes: 16"), HasSubstr("less than two elements"));
  EXPECT_THAT(of_yaml("blocks: 16"), HasSubstr("blocks"));
  EXPECT_THAT(of_yaml("accumulator_banks: 3"),
              HasSubstr("key 'accumulator_banks': 3 is not a power of two"));
  EXPECT_THAT(of_yaml("accumulator_banks: 32"), HasSubstr("key 'accumulator_banks'"));
  // Every key is known, whatever is wrong with the others.
  EXPECT_THAT(of_yaml("accumulator_banks: 2\nblock_in: 12"),
              HasSubstr("key 'block_in': 12 is not a power of two"));
  for (const char* others : {"", "block_in: 12\n", "input_buffer_bytes: 16\n"}) {
    const std::string message = of_yaml("unheard_of_keys: 1\n" + std::string(others));
    EXPECT_THAT(message, HasSubstr("key 'unheard_of_keys'"));
    EXPECT_THAT(message, HasSubstr("accumulator_banks"));
  }
  EXPECT_THAT(MessageOf(ParseConfig("family: vta\nname: \"x\\nendmodule\"\n", "c.yaml").status()),
              HasSubstr("c.yaml: line 2, key 'name': character 2 is a control character, 0x0a"));
  EXPECT_THAT(of_yaml("memory_port_bytes: 4"), HasSubstr("key 'memory_port_bytes'"));
  EXPECT_THAT(of_yaml("memory_latency: 2"), HasSubstr("key 'memory_latency'"));
}

TEST(VtaConfig, TheEndingSaysTheForm) {
  const auto sizes = [](std::string_view text, std::string_view source) {
    const auto config = ParseConfigOfFile(text, source);
    return config.ok() ? SizesOf(*config) : MessageOf(config.status());
  };
  EXPECT_EQ(sizes(R"({"LOG_BATCH": 1})", "vta_config.json"), "2x16_i8w8a32_15_15_18_17");
  EXPECT_EQ(sizes(R"({"format": "any", "config": {"LOG_BATCH": 2}})", "vector.json"),
            "4x16_i8w8a32_15_15_18_17");
  EXPECT_EQ(sizes("family: vta\nname: x\nbatch: 8\n", "x.yaml"), "8x16_i8w8a32_15_15_18_17");
  EXPECT_THAT(sizes("family: vta\nname: x\n", "x.json"),
              HasSubstr("x.json: line 1, column 3: is no JSON"));
}

// Else what the file says would be passed over, and the machine be the default one.
TEST(VtaConfig, KeysOfYamlAreNoneOfJson) {
  const auto message = [](std::string_view text) {
    return MessageOf(ParseConfigOfFile(text, "x.json").status());
  };
  EXPECT_THAT(message(R"({"batch": 4, "block_in": 32})"),
              HasSubstr("x.json: key 'batch': is of design points in YAML; JSON has the original's "
                        "keys; LOG_BATCH"));
  EXPECT_THAT(
      message(R"({"format": "any", "config": {"LOG_BATCH": 1, "weight_buffer_bytes": 4096}})"),
      HasSubstr("key 'weight_buffer_bytes'"));
  // All that a design point in YAML has.
  const auto keys =
      YamlFile::Parse(PrintConfig(*ParseOriginalConfig("{}", "")), "printed")->root().Keys();
  ASSERT_GT(keys.size(), 10u);
  for (const std::string& key : keys) {
    EXPECT_THAT(message(R"({")" + key + R"(": 8})"),
                HasSubstr("x.json: key '" + key + "': is of design points in YAML"));
  }
  EXPECT_EQ(message(R"({"TARGET": "sim", "USE_EXT": true})"), "");
}

TEST(VtaConfig, AKeyStandsOnceInAnObject) {
  const auto message = [](std::string_view text) {
    return MessageOf(ParseConfigOfFile(text, "x.json").status());
  };
  EXPECT_THAT(message(R"({"LOG_BATCH": 1, "LOG_BLOCK": 4, "LOG_BATCH": 2})"),
              HasSubstr("x.json: key 'LOG_BATCH': occurs twice in one object"));
  EXPECT_THAT(message(R"({"config": {"LOG_BATCH": 1, "LOG_BATCH": 1}})"),
              HasSubstr("occurs twice"));
  EXPECT_THAT(message(R"({"config": {}, "config": {"LOG_BATCH": 1}})"), HasSubstr("occurs twice"));
  EXPECT_EQ(message(R"({"LOG_BATCH": 1, "a": {"LOG_BATCH": 1}, "b": [{"c": 1}, {"c": 1}]})"), "");
}

TEST(VtaConfig, BlocksMayDiffer) {
  const auto config = ParseConfig("family: vta\nname: x\nblock_in: 16\nblock_out: 32\n", "c.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(SizesOf(*config), "1x16x32_i8w8a32_15_15_18_17");
  EXPECT_EQ(config->weight_element_bytes(), 512);
}

}  // namespace
}  // namespace kiln::vta
