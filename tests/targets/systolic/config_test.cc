#include "kiln/targets/systolic/config/config.h"

#include <filesystem>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kiln/support/file.h"
#include "kiln/support/resources.h"
#include "kiln/targets/systolic/accelerator.h"
#include "kiln/targets/systolic/config/keys.h"
#include "kiln/targets/systolic/config/user_unit.h"

namespace kiln::systolic {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kSmall[] = "family: systolic\nname: small\narray_rows: 8\narray_columns: 4\n";

std::string ErrorOf(const std::string& yaml) {
  const auto config = ParseConfig(yaml, "net.yaml");
  return config.ok() ? "no error" : MessageOf(config.status());
}

TEST(SystolicConfig, AbsentKeysKeepTheirDefaults) {
  const auto config = ParseConfig(kSmall, "small.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->name, "small");
  EXPECT_EQ(config->array_rows, 8);
  EXPECT_EQ(config->lanes(), 4);
  EXPECT_EQ(config->input_buffer_words, Config().input_buffer_words);
  EXPECT_EQ(config->input_format.name, "int8");
}

// The text identifies a machine that was synthesised: another machine must have another text. Names
// and clocks make no difference.
TEST(SystolicConfig, HardwareKeysTellMachinesApart) {
  std::vector<std::string> yamls;
  for (const std::filesystem::path& file : ListResources("accelerators")) {
    const StatusOr<std::string> text = ReadFile(file);
    ASSERT_TRUE(text.ok()) << text.status();
    if (text->find("family: systolic") != std::string::npos) yamls.push_back(*text);
  }
  const std::string floats = std::string(kSmall) +
                             "input_format: posit8_1\nweight_format: posit8_1\n"
                             "psum_format: bf16\naccumulation_format: bf16\n";
  yamls.insert(yamls.end(), {kSmall, floats, floats + "quire: true\n", floats + "quire: false\n",
                             std::string(kSmall) + "vector_divide_stages: [1]\n",
                             std::string(kSmall) + "depthwise_multipliers: 0\n"});
  std::vector<Config> configs;
  for (const std::string& yaml : yamls) {
    const auto config = ParseConfig(yaml, "point.yaml");
    ASSERT_TRUE(config.ok()) << config.status();
    configs.push_back(*config);
  }
  ASSERT_GE(configs.size(), 24U);
  for (const Config& a : configs) {
    Config other = a;
    other.name = "other";
    other.clock_mhz = 1;
    EXPECT_EQ(Keys().HardwareKeys(other), Keys().HardwareKeys(a));
    for (const Config& b : configs) {
      const bool same = Keys().RtlParameters(a) == Keys().RtlParameters(b);
      EXPECT_EQ(Keys().HardwareKeys(a) == Keys().HardwareKeys(b), same) << a.name << " " << b.name;
    }
  }
}

// Emitted designs hold it in comments of one line.
TEST(SystolicConfig, ANameIsOneLineOfText) {
  for (const char* escape : {"\\n", "\\r", "\\t", "\\x00", "\\x7f"}) {
    EXPECT_THAT(
        ErrorOf(fmt::format(
            "family: systolic\nname: \"x{}endmodule\"\narray_rows: 8\narray_columns: 4\n", escape)),
        HasSubstr("net.yaml: line 2, key 'name': character 2 is a control character"))
        << escape;
  }
  EXPECT_EQ(ErrorOf("family: systolic\nname: \"Öfen 8×4\"\narray_rows: 8\narray_columns: 4\n"),
            "no error");
}

TEST(SystolicConfig, PrintedTextReadsBack) {
  Config config;
  config.name = "it's 16";
  config.array_rows = 32;
  config.weight_rows_per_cycle = 4;
  config.memory_latency = 77;
  config.clock_mhz = 1234.5;
  config.depthwise_multipliers = 0;
  config.input_format = *FindFormat("posit8_1");
  config.psum_format = *FindFormat("bf16");
  config.accumulation_format = *FindFormat("fp32");
  config.quire = true;
  const std::string text = PrintConfig(config);
  const auto again = ParseConfig(text, "again.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), text);
  EXPECT_EQ(again->name, config.name);
  EXPECT_EQ(again->memory_latency, 77);
  EXPECT_TRUE(again->quire);
}

// The pipelined vector unit: few stages, functions and a divider in the middle one.
TEST(SystolicConfig, TheVectorUnitIsAShortFloatOfThreeStagesByDefault) {
  const auto config = ParseConfig(kSmall, "small.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->vector_format.name, "bf16.flush");
  EXPECT_EQ(config->vector_stages, 3);
  EXPECT_EQ(config->vector_stage_latency, 3);
  EXPECT_EQ(config->vector_function_stages, 0b10u);
  EXPECT_EQ(config->vector_divide_stages, 0b10u);
  EXPECT_EQ(config->vector_function_latency, 3);  // six cycles for a function
  EXPECT_EQ(config->vector_convert_latency, 3);

  const auto few = ParseConfig(std::string(kSmall) + "vector_stages: 2\n", "few.yaml");
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_EQ(few->present_stages(few->vector_function_stages), 0b11u);
  EXPECT_EQ(few->present_stages(few->vector_divide_stages), 0b11u);

  const auto wide = ParseConfig(std::string(kSmall) + "vector_format: fp32\n", "wide.yaml");
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ(wide->vector_function_latency, 0);
  EXPECT_EQ(wide->vector_convert_latency, 0);
}

TEST(SystolicConfig, AUserUnitHasItsNameAndTakesIntegers) {
  const std::string maximum = std::string(kSmall) + "user_unit: maximum\n";
  const auto config = ParseConfig(maximum, "small.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->user_unit, FindUserUnit("maximum"));
  EXPECT_EQ(ParseConfig(PrintConfig(*config), "again.yaml")->user_unit, config->user_unit);
  EXPECT_EQ(ParseConfig(std::string(kSmall) + "user_unit: none\n", "none.yaml")->user_unit,
            nullptr);
  EXPECT_THAT(ErrorOf(std::string(kSmall) + "user_unit: minimum\n"),
              AllOf(HasSubstr("user_unit"), HasSubstr("there is no 'minimum'"),
                    HasSubstr("maximum or none")));
  EXPECT_THAT(ErrorOf(maximum + "depthwise_multipliers: 0\n"),
              HasSubstr("depthwise_multipliers above 0"));
  EXPECT_THAT(ErrorOf(maximum + "input_format: bf16\n"),
              HasSubstr("signed integers of up to 8 bits"));
}

TEST(SystolicConfig, PortsHave64To1024Bits) {
  for (const char* port : {"input_port_bytes", "weight_port_bytes", "operand_port_bytes",
                           "output_port_bytes", "instruction_bytes_per_cycle"}) {
    for (const int bytes : {8, 16, 128}) {
      EXPECT_EQ(ErrorOf(fmt::format("{}{}: {}\n", kSmall, port, bytes)), "no error");
    }
    for (const int bytes : {4, 256}) {
      EXPECT_THAT(ErrorOf(fmt::format("{}{}: {}\n", kSmall, port, bytes)), HasSubstr(port))
          << bytes;
    }
  }
}

TEST(SystolicConfig, ASharedBusHasOneWidth) {
  const std::string shared = std::string(kSmall) + "shared_bus: true\n";
  const auto config = ParseConfig(shared + "input_port_bytes: 16\n", "net.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->shared_bus);
  EXPECT_TRUE(ParseConfig(PrintConfig(*config), "again.yaml")->shared_bus);
  for (const char* port : {"input_port_bytes", "weight_port_bytes", "operand_port_bytes",
                           "output_port_bytes", "instruction_bytes_per_cycle"}) {
    EXPECT_THAT(ErrorOf(shared + port + ": 32\n"),
                AllOf(HasSubstr("shared_bus"), HasSubstr("one value for all")))
        << port;
    EXPECT_EQ(ErrorOf(std::string(kSmall) + port + ": 32\n"), "no error");
  }
  EXPECT_THAT(ErrorOf(shared + "block_size: 8\ninput_format: fixed8_6\nweight_format: fixed8_6\n"),
              HasSubstr("block scales have ports of their own"));
}

TEST(SystolicConfig, FurtherPrecisionsShareSumsAndPlacesInMemory) {
  const auto with = [](const std::string& pairs, const std::string& rest = "") {
    return std::string(kSmall) + "input_format: int8\nweight_format: int8\nother_precisions:\n" +
           pairs + rest;
  };
  const auto config = ParseConfig(
      with("  - {input: e4m3, weight: nf4}\n  - {input: int4, weight: int8}\n"), "net.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->precisions(), 3);
  EXPECT_EQ(DescribePrecisions(*config), "int8 x int8, e4m3 x nf4, int4 x int8");
  // One of the pairs is of floats, so that sums are.
  EXPECT_EQ(config->psum_format.name, "bf16");
  EXPECT_EQ(config->accumulation_format.name, "fp32");
  EXPECT_EQ(AtPrecision(*config, 1).weight_format.name, "nf4");
  EXPECT_EQ(AtPrecision(*config, 1).precisions(), 1);
  EXPECT_EQ(config->input_bits(), 8);
  const auto again = ParseConfig(PrintConfig(*config), "again.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), PrintConfig(*config));
  EXPECT_EQ(again->other_precisions, config->other_precisions);
  EXPECT_EQ(ParseConfig(with("  - {input: int4, weight: int2}\n"), "net.yaml")->psum_format.name,
            "int32");

  EXPECT_THAT(ErrorOf(with("  - {input: e4m3}\n")), HasSubstr("weight"));
  EXPECT_THAT(ErrorOf(with("  - {input: e4m3, weight: e9m9}\n")), HasSubstr("e9m9"));
  EXPECT_THAT(ErrorOf(with("  - {input: uint8, weight: int8}\n")),
              AllOf(HasSubstr("other_precisions"), HasSubstr("uint8 x int8: 'uint8' is unsigned")));
  EXPECT_THAT(ErrorOf(with("  - {input: int16, weight: int8}\n")),
              AllOf(HasSubstr("other_precisions"),
                    HasSubstr("codes of int16 take 2 bytes, those of int8 1")));
  EXPECT_THAT(ErrorOf(with("  - {input: int8, weight: int8}\n")),
              HasSubstr("this pair occurs twice"));
  EXPECT_THAT(ErrorOf(with("  - {input: e4m3, weight: e4m3}\n", "psum_format: int32\n")),
              AllOf(HasSubstr("int32 cannot hold products of e4m3"),
                    HasSubstr("all pairs have one psum_format")));
  EXPECT_THAT(ErrorOf(with("  - {input: e4m3, weight: e4m3}\n", "quire: true\n")),
              HasSubstr("width of one pair's"));
  EXPECT_THAT(ErrorOf(with("  - {input: e4m3, weight: int8}\n  - {input: e5m2, weight: int8}\n"
                           "  - {input: nf4, weight: int8}\n  - {input: int4, weight: int8}\n")),
              AllOf(HasSubstr("other_precisions"), HasSubstr("at most 3")));
}

// Formats of any precision are the design point's own; others make a variant of one precision.
TEST(SystolicConfig, VariantsInFormatsOfAPrecisionAreTheDesignPoint) {
  const auto described = [](const char* type) {
    auto config = ParseConfig(std::string(kSmall) +
                                  "other_precisions:\n  - {input: e4m3, weight: e4m3}\n"
                                  "psum_format: fp32\n",
                              "small.yaml");
    const auto types = FindQuantType(type);
    const auto variant = SystolicAccelerator(*std::move(config)).WithFormats(*types, *types);
    return variant.ok() ? (*variant)->Describe() : MessageOf(variant.status());
  };
  for (const char* type : {"int8", "e4m3"}) {
    EXPECT_THAT(described(type),
                AllOf(HasSubstr("\ninput_format: int8\n"), HasSubstr("{input: e4m3, weight: e4m3}"),
                      HasSubstr("psum_format: fp32")));
  }
  EXPECT_THAT(described("posit8_1"), AllOf(HasSubstr("\ninput_format: posit8_1\n"),
                                           testing::Not(HasSubstr("other_precisions"))));
}

// Only the first precision has block scales, so formats of the others are the design point's own
// without any.
TEST(SystolicConfig, VariantsOfPrecisionsBesideBlockScales) {
  const auto described = [](const char* type) {
    auto config =
        ParseConfig(std::string(kSmall) +
                        "input_format: e4m3\nweight_format: e4m3\nblock_size: 32\n"
                        "other_precisions:\n  - {input: int8, weight: int8}\npsum_format: fp32\n",
                    "small.yaml");
    EXPECT_TRUE(config.ok()) << config.status();
    const auto types = FindQuantType(type);
    const auto variant = SystolicAccelerator(*std::move(config)).WithFormats(*types, *types);
    return variant.ok() ? (*variant)->Describe() : MessageOf(variant.status());
  };
  for (const char* type : {"mxfp8_e4m3", "int8"}) {
    EXPECT_THAT(described(type),
                AllOf(HasSubstr("\ninput_format: e4m3\n"), HasSubstr("{input: int8, weight: int8}"),
                      HasSubstr("psum_format: fp32"), HasSubstr("block_size: 32")))
        << type;
  }
  const auto alone = [](const char* input, const char* block_size) {
    return AllOf(HasSubstr(fmt::format("\ninput_format: {}\n", input)), HasSubstr(block_size),
                 testing::Not(HasSubstr("other_precisions")));
  };
  EXPECT_THAT(described("e4m3"), alone("e4m3", "block_size: 0"));
  EXPECT_THAT(described("mxint8"), alone("fixed8_6", "block_size: 32"));
}

// A variant is a design point that could be read: without a user unit that its formats have no use
// for, and with no more words a beat than the port has room for.
TEST(SystolicConfig, VariantsInOtherFormatsAreDesignPoints) {
  const auto described = [](const std::string& keys, const char* type) {
    auto config = ParseConfig(kSmall + keys, "small.yaml");
    EXPECT_TRUE(config.ok()) << config.status();
    const auto types = FindQuantType(type);
    const auto variant = SystolicAccelerator(*std::move(config)).WithFormats(*types, *types);
    if (!variant.ok()) return MessageOf(variant.status());
    EXPECT_EQ(ErrorOf((*variant)->Describe()), "no error") << type;
    return (*variant)->Describe();
  };
  for (const char* type : {"int8", "int4"}) {
    EXPECT_THAT(described("user_unit: maximum\n", type), HasSubstr("user_unit: maximum")) << type;
  }
  for (const char* type : {"binary", "e4m3", "int16", "mxint8"}) {
    EXPECT_THAT(described("user_unit: maximum\n", type), HasSubstr("user_unit: none")) << type;
  }
  for (const auto& [type, words] : {std::pair{"int8", 4}, {"bf16", 2}, {"fp32", 1}}) {
    EXPECT_THAT(described("depthwise_words_per_cycle: 4\n", type),
                HasSubstr(fmt::format("depthwise_words_per_cycle: {}\n", words)));
  }
}

TEST(SystolicConfig, ErrorsNameFileKeyAndRemedy) {
  const std::string small = kSmall;
  const std::string head = "family: systolic\nname: x\n";
  EXPECT_THAT(ErrorOf(head + "array_rows: 8\n"), HasSubstr("array_columns"));
  EXPECT_THAT(ErrorOf("family: vta\nname: x\narray_rows: 8\narray_columns: 8\n"),
              HasSubstr("'vta' is not systolic"));
  EXPECT_THAT(ErrorOf(small + "array_colums: 8\n"),
              AllOf(HasSubstr("net.yaml"), HasSubstr("array_colums")));
  EXPECT_THAT(ErrorOf(head + "array_rows: 12\narray_columns: 8\n"),
              HasSubstr("12 is not a power of two; a power of two from 1 to 256"));
  EXPECT_THAT(ErrorOf(head + "array_rows: 100000\narray_columns: 8\n"), HasSubstr("array_rows"));
  EXPECT_THAT(ErrorOf(small + "weight_rows_per_cycle: 3\n"),
              HasSubstr("3 does not divide array_rows 8"));
  EXPECT_THAT(ErrorOf(small + "accumulation_latency: 2\n"),
              HasSubstr("2 cycles for integer accumulators; 1"));
  const std::string floats = small + "input_format: e4m3\nweight_format: e4m3\n";
  EXPECT_THAT(ErrorOf(floats + "quire: true\naccumulation_latency: 2\n"),
              HasSubstr("2 cycles for exact accumulators; 1"));
  EXPECT_THAT(
      ErrorOf(floats + "weight_rows_per_cycle: 4\naccumulation_latency: 3\n"),
      HasSubstr("3 cycles are more than the 2 from a pass of one pixel to the next; at most "
                "array_rows / weight_rows_per_cycle"));
  EXPECT_EQ(ErrorOf(floats + "weight_rows_per_cycle: 4\naccumulation_latency: 2\n"), "no error");
  EXPECT_THAT(ErrorOf(small + "depthwise_sum_latency: 2\n"),
              HasSubstr("2 cycles for integer sums; 1"));
  EXPECT_THAT(ErrorOf(floats + "quire: true\ndepthwise_sum_latency: 2\n"),
              HasSubstr("2 cycles for exact sums; 1"));
  EXPECT_EQ(ErrorOf(floats + "depthwise_sum_latency: 1\n"), "no error");
  EXPECT_THAT(ErrorOf(small + "depthwise_words_per_cycle: 3\n"),
              HasSubstr("3 is not a power of two"));
  EXPECT_THAT(ErrorOf(small + "depthwise_words_per_cycle: 8\n"),
              HasSubstr("8 words of 4 bytes do not fit an input port of 16 bytes"));
  EXPECT_EQ(ErrorOf(small + "depthwise_words_per_cycle: 4\n"), "no error");
  EXPECT_THAT(ErrorOf(small + "weight_buffer_words: 4\n"),
              HasSubstr("4 words do not hold one weight tile of 8 rows"));
  EXPECT_THAT(ErrorOf(small + "input_format: e9m9\n"),
              AllOf(HasSubstr("input_format"), HasSubstr("e9m9")));
  EXPECT_THAT(ErrorOf(small + "input_format: uint8\n"),
              AllOf(HasSubstr("input_format"), HasSubstr("int8")));
  EXPECT_THAT(ErrorOf(small + "weight_format: posit32_2\n"),
              AllOf(HasSubstr("weight_format"), HasSubstr("fp32")));
  EXPECT_THAT(ErrorOf(small + "input_format: int24\n"), HasSubstr("at most 16 bits"));
  EXPECT_THAT(ErrorOf(small + "input_format: e4m3\npsum_format: int32\n"),
              AllOf(HasSubstr("psum_format"), HasSubstr("cannot hold products of e4m3")));
  EXPECT_THAT(ErrorOf(small + "psum_format: nf4\n"), HasSubstr("psum_format"));
  EXPECT_THAT(ErrorOf(small + "product: rounded\n"), HasSubstr("key 'product'"));
  EXPECT_THAT(ErrorOf(small + "quire: true\n"),
              AllOf(HasSubstr("key 'quire'"), HasSubstr("int32 sums are exact without one")));
  EXPECT_THAT(ErrorOf(small + "input_format: e4m3\nproduct: rounded\nquire: true\n"),
              AllOf(HasSubstr("key 'product'"), HasSubstr("before exact sums")));
  EXPECT_THAT(ErrorOf(small + "input_format: e4m3\nquire: 1\n"), HasSubstr("key 'quire'"));
  EXPECT_THAT(ErrorOf(small + "psum_format: fp32\naccumulation_format: int32\n"),
              HasSubstr("accumulation_format"));
  EXPECT_THAT(ErrorOf(small + "block_size: 32\naccumulation_format: int32\n"),
              HasSubstr("accumulation_format"));
  EXPECT_THAT(ErrorOf(small + "block_size: 12\n"),
              AllOf(HasSubstr("block_size"), HasSubstr("array_rows 8")));
  EXPECT_THAT(ErrorOf(small + "block_size: 32\nscale_format: int8\n"), HasSubstr("scale_format"));
  EXPECT_THAT(ErrorOf(small + "integer_elements: false\n"), HasSubstr("integer_elements"));
  // Blocks are of the first precision only.
  const std::string blocks = small +
                             "input_format: e4m3\nweight_format: e4m3\npsum_format: fp32\n"
                             "accumulation_format: fp32\nblock_size: 32\n"
                             "other_precisions: [{input: int8, weight: int8}]\n";
  EXPECT_EQ(ErrorOf(blocks), "no error");
  EXPECT_THAT(ErrorOf(blocks + "integer_elements: false\n"),
              HasSubstr("false, with an array of 'int8'"));
  EXPECT_THAT(ErrorOf(small + "vector_format: posit16_1\n"), HasSubstr("vector_format"));
  EXPECT_THAT(ErrorOf(small + "vector_format: bf16.toward_zero\n"), HasSubstr("vector_format"));
  EXPECT_THAT(ErrorOf(small + "vector_format: bf16.flush\nvector_function_latency: 1\n"),
              HasSubstr("1 cycles beyond 3 are too few for functions in bf16.flush"));
  EXPECT_THAT(ErrorOf(small + "vector_convert_latency: 9\noperand_buffer_words: 250\n"),
              HasSubstr("250 words and 12 cycles of the conversion and a stage"));
  EXPECT_THAT(ErrorOf(small + "input_format: e4m3.stochastic\n"), HasSubstr("rounds at random"));
  EXPECT_THAT(ErrorOf(small + "input_port_bytes: 12\n"), HasSubstr("12 is not a power of two"));
  EXPECT_THAT(ErrorOf(small + "accumulator_bits: 64\n"), HasSubstr("accumulator_bits"));
  EXPECT_THAT(ErrorOf(small + "clock_mhz: fast\n"), HasSubstr("clock_mhz"));
}

// What fuses multiply-adds is what the vector format is, not what it is called.
TEST(SystolicConfig, Fp32UnderAnotherNameIsNoNarrowVectorFormat) {
  for (const auto& [name, narrow] : {std::pair{"fp32", false},
                                     {"e8m23", false},
                                     {"fp32.saturate", true},
                                     {"e8m23.flush", true},
                                     {"tf32", true},
                                     {"bf16", true}}) {
    const auto config =
        ParseConfig(std::string(kSmall) + "vector_format: " + name + "\n", "small.yaml");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->narrow_vector(), narrow) << name;
  }
}

TEST(SystolicConfig, AccumulatorsOfAQuireHaveItsBits) {
  const auto config = ParseConfig(
      std::string(kSmall) + "input_format: posit8_2\nweight_format: posit8_2\nquire: true\n",
      "small.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->accumulator_bits(), 128);
  EXPECT_EQ(Config().accumulator_bits(), 32);
}

// A variant keeps its design point's quire, but for integers, whose sums are exact without.
TEST(SystolicConfig, VariantsInOtherFormatsKeepTheQuire) {
  const auto quire = [](const char* type) {
    auto config =
        ParseConfig(std::string(kSmall) + "input_format: posit8_1\nquire: true\n", "small.yaml");
    const auto types = FindQuantType(type);
    const auto variant = SystolicAccelerator(*std::move(config)).WithFormats(*types, *types);
    return variant.ok() ? (*variant)->Describe() : MessageOf(variant.status());
  };
  EXPECT_THAT(quire("e4m3"), HasSubstr("quire: true"));
  EXPECT_THAT(quire("mxfp8_e4m3"), HasSubstr("quire: true"));
  EXPECT_THAT(quire("int8"), HasSubstr("quire: false"));
  EXPECT_THAT(quire("mxint8"), HasSubstr("quire: false"));
}

TEST(SystolicConfig, TheDesignPointsOfTheRepositoryAreRead) {
  for (const auto& [file, size] :
       {std::pair{"8x8", 8}, {"16x16", 16}, {"16x16-wide-input", 16}, {"32x32", 32}}) {
    const std::string path = std::string("accelerators/systolic-int8-") + file + ".yaml";
    const auto text = ReadFile(path);
    ASSERT_TRUE(text.ok()) << text.status();
    const auto config = ParseConfig(*text, path);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->macs_per_cycle(), size * size);
  }
}

// The latency of accumulators follows from their format, the psums and the scales, and no pass is
// shorter.
TEST(Config, AccumulationLatencyFollowsFromTheFormats) {
  const auto latency = [](const char* input, const char* psum, const char* accumulation,
                          int block_size, int rows_per_cycle, bool quire) {
    Config c;
    c.array_rows = 8;
    c.weight_rows_per_cycle = rows_per_cycle;
    c.input_format = c.weight_format = *FindFormat(input);
    c.psum_format = *FindFormat(psum);
    c.accumulation_format = *FindFormat(accumulation);
    c.block_size = block_size;
    c.quire = quire;
    SetDefaultArrayLatencies(&c);
    return c.accumulation_latency;
  };
  EXPECT_EQ(latency("int8", "int32", "int32", 0, 1, false), 1);
  EXPECT_EQ(latency("int8", "int32", "fp32", 32, 1, false), 3);
  EXPECT_EQ(latency("e4m3", "bf16", "bf16", 0, 1, false), 2);
  EXPECT_EQ(latency("e4m3", "bf16", "fp32", 0, 1, false), 3);
  EXPECT_EQ(latency("e4m3", "bf16", "bf16", 32, 1, false), 3);
  EXPECT_EQ(latency("e4m3", "bf16", "fp32", 0, 1, true), 1);
  EXPECT_EQ(latency("e4m3", "bf16", "fp32", 32, 1, true), 3);
  EXPECT_EQ(latency("e4m3", "bf16", "fp32", 0, 4, false), 2);
  EXPECT_EQ(latency("e4m3", "bf16", "fp32", 0, 8, false), 1);
}

}  // namespace
}  // namespace kiln::systolic
