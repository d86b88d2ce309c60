// Tests of codebooks in YAML files.
#include "kiln/numerics/codebook.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

// A folder of this process's own, whose name has only characters that a format's name may have.
std::string TemporaryFile(const std::string& name, std::string_view text) {
  const std::string path =
      testing::TempDir() + "kiln_codebook_" + std::to_string(::getpid()) + "_" + name;
  EXPECT_TRUE(WriteFile(path, text).ok());
  return path;
}

TEST(CodebookFile, IsAFormatByItsPath) {
  const std::string path = TemporaryFile(
      "powers.yaml", "name: powers\nbits: 3\nvalues: [-4, -2, -1, 0, 1, 2, 4, 0.1]\n");
  const StatusOr<Format> format = FindFormat(path);
  ASSERT_TRUE(format.ok()) << format.status();
  EXPECT_EQ(format->name, path);
  EXPECT_EQ(format->bits, 3);
  EXPECT_EQ(DecodeFloat(*format, 7), 0.1f);
  EXPECT_EQ(EncodeFloat(*format, 1.4f), 4u);
  EXPECT_EQ(EncodeFloat(*format, 1.5f), 4u);  // a tie: the lesser magnitude
  EXPECT_EQ(EncodeFloat(*format, -100), 0u);
  const StatusOr<Format> down = FindFormat(path + ".down");
  ASSERT_TRUE(down.ok()) << down.status();
  EXPECT_EQ(EncodeFloat(*down, 3.9f), 5u);
  EXPECT_EQ(FindFormat(down->name)->rounding, Rounding::kDown);
  EXPECT_EQ(FindFormat(path)->codebook, format->codebook);
  std::filesystem::remove(path);
  EXPECT_FALSE(FindFormat(path).ok());
}

// A file with a hole, which takes no room; the second is refused before it is read.
TEST(CodebookFile, BytesAtTheBudget) {
  const std::string path = TemporaryFile("long.yaml", "");
  const auto error = [&](int64_t bytes) {
    std::filesystem::resize_file(path, static_cast<uintmax_t>(bytes));
    return MessageOf(FindFormat(path).status());
  };
  EXPECT_EQ(error(budgets::kYamlBytes).find("too many"), std::string::npos);
  EXPECT_EQ(error(budgets::kYamlBytes + 1),
            path + ": 1048577 bytes are too many; at most 1048576 bytes are read");
}

TEST(CodebookFile, VectorCodeGivesTheSameCodes) {
  const std::string path =
      TemporaryFile("thirds.yaml", "name: thirds\nbits: 2\nvalues: [0.33, -1, 1, -0.33]\n");
  const Format format = *FindFormat(path);
  std::vector<float> values;
  for (int i = -300; i <= 300; ++i) values.push_back(static_cast<float>(i) / 200);
  std::vector<uint8_t> codes(values.size());
  EncodeValues(format, values.data(), static_cast<int64_t>(values.size()), codes.data());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(codes[i], EncodeFloat(format, values[i])) << values[i];
  std::filesystem::remove(path);
}

struct CodebookErrorCase {
  const char* text;
  const char* message;
};

class CodebookErrors : public testing::TestWithParam<CodebookErrorCase> {};

TEST_P(CodebookErrors, NameFileLineAndKey) {
  EXPECT_EQ(MessageOf(ParseCodebook(GetParam().text, "c.yaml").status()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, CodebookErrors,
    testing::Values(
        CodebookErrorCase{
            "name: a\nbits: 9\nvalues: [0, 1]\n",
            "c.yaml: line 2, key 'bits': 9 is out of range; a whole number from 1 to 8"},
        CodebookErrorCase{"name: a b\nbits: 1\nvalues: [0, 1]\n",
                          "c.yaml: line 1, key 'name': 'a b' is no name; letters, digits and _"},
        CodebookErrorCase{
            "name: a\nbits: 1\nvalues: [0, 1, 2]\n",
            "c.yaml: line 3, key 'values': 3 values under 1 bits; from 2 to 2 values"},
        CodebookErrorCase{
            "name: a\nbits: 2\nvalues: [0, 1, 1.00000001]\n",
            "c.yaml: line 3, key 'values': the value 1 is there twice (in fp32); each value once"},
        CodebookErrorCase{
            "name: a\nbits: 2\nvalues: [0, -0.0]\n",
            "c.yaml: line 3, key 'values': the value 0 is there twice (in fp32); each value once"},
        CodebookErrorCase{
            "name: a\nbits: 2\nvalues: [0, nan]\n",
            "c.yaml: line 3, key 'values': item 1 is not one it can hold; a list of numbers from "
            "-3.4028234663852886e+38 to 3.4028234663852886e+38"},
        CodebookErrorCase{"name: a\nbits: 2\nvalues: 7\n",
                          "c.yaml: line 3, key 'values': is not a list; a list of numbers from "
                          "-3.4028234663852886e+38 to "
                          "3.4028234663852886e+38"}));

}  // namespace
}  // namespace kiln
