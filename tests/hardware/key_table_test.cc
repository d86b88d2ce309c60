#include "kiln/hardware/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kiln::hardware {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A design point with a key of every type.
struct Toy {
  std::string name;
  int rows = 4;
  int64_t bytes = 64;
  double clock = 100;
  bool fast = false;
  bool rounded = false;
  Format format = *FindFormat("int8");
  int stages = 3;
  uint32_t dividers = ~uint32_t{0};
  int latency = 2;
};

const KeyTable<Toy>& Keys() {
  static const KeyTable<Toy> table(
      "toy",
      {{.name = "name", .type = Text(&Toy::name), .required = true, .rtl = {}, .help = "its name"},
       {.name = "rows",
        .type = PowerOfTwo(&Toy::rows, 2, 16),
        .unit = "rows",
        .condition = "as many as `bytes` has room for",
        .original = "LOG_ROWS",
        .rtl = {{"ROWS"}, {"TWICE", [](const Toy& c) { return std::to_string(2 * c.rows); }}},
        .help = "rows of the array"},
       {.name = "bytes",
        .type = PowerOfTwo(&Toy::bytes, 1, 256, "a power of two up to 256"),
        .rtl = {{"BYTES"}},
        .help = "size of the buffer"},
       {.name = "clock", .type = Real(&Toy::clock, 0.5, 200), .rtl = {}, .help = "MHz"},
       {.name = "fast", .type = Boolean(&Toy::fast), .rtl = {{"FAST"}}, .help = "is fast"},
       {.name = "product",
        .type = Choice(&Toy::rounded, "exact", "rounded"),
        .rtl = {{"ROUNDED"}},
        .help = "of two numbers"},
       {.name = "format",
        .type = NumberFormat(&Toy::format),
        .rtl = {{"FORMAT"}},
        .help = "of numbers"},
       {.name = "stages", .type = Integer(&Toy::stages, 1, 5), .rtl = {}, .help = "in a row"},
       {.name = "dividers",
        .type = NumberSet(&Toy::dividers, &Toy::stages, "stage"),
        .by_default = "all",
        .rtl = {{"DIVIDERS"}},
        .help = "stages with a divider"},
       {.name = "latency",
        .type =
            Integer(&Toy::latency, Limit<Toy>(2, [](const Toy& c) { return c.fast ? 3 : 2; }), 64),
        .rtl = {{"LATENCY"}},
        .help = "cycles"}});
  return table;
}

struct Outcome {
  Toy toy;
  std::string message;  // empty: no error
  bool values_fit = false;
};

Outcome ReadText(const std::string& yaml) {
  Outcome outcome;
  StatusOr<YamlFile> file = YamlFile::Parse(yaml, "toy.yaml");
  EXPECT_TRUE(file.ok()) << file.status();
  KeyReader<Toy> reader(Keys(), file->root(), &outcome.toy);
  reader.ReadRest();
  outcome.values_fit = reader.values_fit();
  if (const Status status = file->Finish(); !status.ok()) outcome.message = MessageOf(status);
  return outcome;
}

Outcome Read(const std::string& keys) { return ReadText("family: toy\nname: x\n" + keys); }

std::string MessageAbout(const std::string& key) { return Read(key + "\n").message; }

TEST(KeyTable, AbsentKeysKeepTheirDefaults) {
  const Outcome read = Read("");
  EXPECT_EQ(read.message, "");
  EXPECT_TRUE(read.values_fit);
  EXPECT_EQ(read.toy.name, "x");
  EXPECT_EQ(read.toy.rows, 4);
  EXPECT_EQ(read.toy.bytes, 64);
  EXPECT_EQ(read.toy.clock, 100);
  EXPECT_FALSE(read.toy.fast);
  EXPECT_EQ(read.toy.format.name, "int8");
  EXPECT_EQ(read.toy.dividers, 0b111u);
}

TEST(KeyTable, WholeNumbersHaveLimits) {
  EXPECT_EQ(Read("stages: 1").toy.stages, 1);
  EXPECT_EQ(Read("stages: 5").toy.stages, 5);
  EXPECT_EQ(MessageAbout("stages: 0"),
            "toy.yaml: line 3, key 'stages': 0 is out of range; a whole number from 1 to 5");
  EXPECT_EQ(MessageAbout("stages: 6"),
            "toy.yaml: line 3, key 'stages': 6 is out of range; a whole number from 1 to 5");
  EXPECT_EQ(MessageAbout("stages: many"),
            "toy.yaml: line 3, key 'stages': 'many' is not an integer; a whole number from 1 to 5");
  EXPECT_EQ(Read("stages: 6").toy.stages, 3);
  EXPECT_TRUE(Read("stages: 6").values_fit);  // the default, which is stored, fits
}

TEST(KeyTable, ALimitMayFollowFromOtherKeys) {
  EXPECT_EQ(Read("latency: 2").toy.latency, 2);
  EXPECT_EQ(Read("fast: true\nlatency: 3").toy.latency, 3);
  EXPECT_EQ(MessageAbout("fast: true\nlatency: 2"),
            "toy.yaml: line 4, key 'latency': 2 is out of range; a whole number from 3 to 64");
}

TEST(KeyTable, PowersOfTwoHaveLimits) {
  EXPECT_EQ(Read("rows: 2").toy.rows, 2);
  EXPECT_EQ(Read("rows: 16").toy.rows, 16);
  EXPECT_EQ(Read("bytes: 256").toy.bytes, 256);
  EXPECT_EQ(MessageAbout("rows: 1"),
            "toy.yaml: line 3, key 'rows': 1 is out of range; a whole number from 2 to 16");
  EXPECT_EQ(MessageAbout("rows: 32"),
            "toy.yaml: line 3, key 'rows': 32 is out of range; a whole number from 2 to 16");
  EXPECT_EQ(MessageAbout("rows: 12"),
            "toy.yaml: line 3, key 'rows': 12 is not a power of two; a power of two from 2 to 16");
  EXPECT_EQ(MessageAbout("bytes: 12"),
            "toy.yaml: line 3, key 'bytes': 12 is not a power of two; a power of two up to 256");
  EXPECT_FALSE(Read("rows: 12").values_fit);
  EXPECT_TRUE(Read("rows: 32").values_fit);
}

TEST(KeyTable, NumbersHaveLimits) {
  EXPECT_EQ(Read("clock: 0.5").toy.clock, 0.5);
  EXPECT_EQ(Read("clock: 200").toy.clock, 200);
  EXPECT_EQ(MessageAbout("clock: 0.4"),
            "toy.yaml: line 3, key 'clock': 0.4 is out of range; a number from 0.5 to 200");
  EXPECT_EQ(MessageAbout("clock: 200.5"),
            "toy.yaml: line 3, key 'clock': 200.5 is out of range; a number from 0.5 to 200");
  EXPECT_EQ(MessageAbout("clock: soon"),
            "toy.yaml: line 3, key 'clock': 'soon' is not a number; a number from 0.5 to 200");
}

TEST(KeyTable, BooleansAndChoices) {
  EXPECT_TRUE(Read("fast: true").toy.fast);
  EXPECT_EQ(MessageAbout("fast: 1"),
            "toy.yaml: line 3, key 'fast': '1' is not a boolean; true or false");
  EXPECT_TRUE(Read("product: rounded").toy.rounded);
  EXPECT_FALSE(Read("product: exact").toy.rounded);
  EXPECT_EQ(MessageAbout("product: big"),
            "toy.yaml: line 3, key 'product': unknown value 'big'; one of: exact, rounded");
}

TEST(KeyTable, FormatsAndText) {
  EXPECT_EQ(Read("format: e4m3").toy.format.name, "e4m3");
  EXPECT_EQ(MessageAbout("format: e9m9"),
            "toy.yaml: line 3, key 'format': unknown format 'e9m9'; a name that 'kiln list "
            "formats' prints");
  EXPECT_EQ(ReadText("family: toy\nname: \"a\\nb\"\n").message,
            "toy.yaml: line 2, key 'name': character 2 is a control character, 0x0a; a name of "
            "one line");
}

TEST(KeyTable, SetsOfNumbers) {
  EXPECT_EQ(Read("dividers: []").toy.dividers, 0u);
  EXPECT_EQ(Read("dividers: [2, 0]").toy.dividers, 0b101u);
  EXPECT_EQ(Read("stages: 5").toy.dividers, 0b11111u);
  EXPECT_EQ(Read("stages: 5\ndividers: [4]").toy.dividers, 0b10000u);
  EXPECT_EQ(MessageAbout("dividers: [3]"),
            "toy.yaml: line 3, key 'dividers': item 0 is not one it can hold; a list of whole "
            "numbers from 0 to 2");
  EXPECT_EQ(MessageAbout("dividers: [1, 1]"),
            "toy.yaml: line 3, key 'dividers': stage 1 occurs twice; each stage once");
  EXPECT_EQ(MessageAbout("dividers: 1"),
            "toy.yaml: line 3, key 'dividers': is not a list; a list of whole numbers from 0 to 2");
}

TEST(KeyTable, RequiredAndUnknownKeys) {
  EXPECT_EQ(ReadText("family: toy\n").message,
            "toy.yaml: line 1: key 'name' is missing; add it, it has no default");
  EXPECT_EQ(ReadText("name: x\n").message,
            "toy.yaml: line 1: key 'family' is missing; add it, it has no default");
  EXPECT_EQ(ReadText("family: play\nname: x\n").message,
            "toy.yaml: line 1, key 'family': 'play' is not toy; family: toy");
  EXPECT_EQ(MessageAbout("row: 2"),
            "toy.yaml: line 3, key 'row': unknown key; did you mean 'rows'?");
  EXPECT_EQ(MessageAbout("colour: 2"),
            "toy.yaml: line 3, key 'colour': unknown key; one of: family, name, rows, bytes, "
            "clock, fast, product, format, stages, dividers, latency");
}

TEST(KeyTable, ReadersContinueWhereTheyStopped) {
  StatusOr<YamlFile> file = YamlFile::Parse("family: toy\nname: x\nbytes: 8\nfast: true\n", "t");
  ASSERT_TRUE(file.ok());
  Toy toy;
  KeyReader<Toy> reader(Keys(), file->root(), &toy);
  reader.ReadTo("rows");
  EXPECT_EQ(toy.name, "x");
  EXPECT_EQ(toy.bytes, 64);
  reader.Read("fast");
  EXPECT_TRUE(toy.fast);
  EXPECT_EQ(toy.bytes, 64);
  reader.ReadRest();
  EXPECT_EQ(toy.bytes, 8);
  EXPECT_TRUE(file->Finish().ok());
}

TEST(KeyTable, PrintsWhatItReads) {
  const std::string text =
      "family: toy\nname: 'it''s'\nrows: 8\nbytes: 128\nclock: 12.5\nfast: true\n"
      "product: rounded\nformat: e4m3\nstages: 4\ndividers: [1, 3]\nlatency: 7\n";
  const Outcome read = ReadText(text);
  EXPECT_EQ(read.message, "");
  EXPECT_EQ(Keys().Print(read.toy), text);
}

TEST(KeyTable, GivesTheParametersOfTheRtl) {
  Toy toy;
  toy.rows = 8;
  toy.fast = true;
  toy.stages = 4;
  toy.dividers = 0b11010;  // stage 4 is not present
  const RtlParameter format = {"FORMAT", FormatDescriptor(*FindFormat("int8"))};
  EXPECT_THAT(Keys().RtlParameters(toy),
              ElementsAre(RtlParameter{"ROWS", "8"}, RtlParameter{"TWICE", "16"},
                          RtlParameter{"BYTES", "64"}, RtlParameter{"FAST", "1'b1"},
                          RtlParameter{"ROUNDED", "1'b0"}, format,
                          RtlParameter{"DIVIDERS", "4'b1010"}, RtlParameter{"LATENCY", "2"}));
}

TEST(KeyTable, DescribesItsRows) {
  const std::vector<KeyDescription> rows = Keys().Describe();
  ASSERT_EQ(rows.size(), 11u);
  EXPECT_EQ(rows[0].name, "family");
  EXPECT_EQ(rows[0].values, "toy");
  EXPECT_EQ(rows[1].by_default, "required");
  EXPECT_EQ(rows[2].name, "rows");
  EXPECT_EQ(rows[2].type, "power of two");
  EXPECT_EQ(rows[2].unit, "rows");
  EXPECT_EQ(rows[2].values, "2 to 16; as many as `bytes` has room for");
  EXPECT_EQ(rows[2].by_default, "4");
  EXPECT_EQ(rows[2].original, "LOG_ROWS");
  EXPECT_THAT(rows[2].rtl_parameters, ElementsAre("ROWS", "TWICE"));
  EXPECT_EQ(rows[2].help, "rows of the array");
  EXPECT_EQ(rows[4].values, "0.5 to 200");
  EXPECT_EQ(rows[5].by_default, "false");
  EXPECT_EQ(rows[6].values, "exact, rounded");
  EXPECT_EQ(rows[7].by_default, "int8");
  EXPECT_EQ(rows[9].type, "list of stages");
  EXPECT_EQ(rows[9].by_default, "all");
  EXPECT_EQ(rows[10].values, "2 to 64");
}

TEST(KeyTable, APageHasAnItemForEachRow) {
  FamilyKeys toy{.family = "toy", .introduction = "A toy.", .keys = Keys().Describe()};
  const std::string page = MarkdownPage(toy);
  EXPECT_THAT(page, testing::StartsWith("# Design points of the toy family\n\n"));
  EXPECT_THAT(page, HasSubstr("\n\nA toy.\n\n"));
  EXPECT_THAT(page, HasSubstr("`kiln list keys toy --markdown`"));
  EXPECT_THAT(
      page, HasSubstr("\n- **`rows`** (power of two, rows: 2 to 16; as many as `bytes` has room "
                      "for; default 4): rows of the\n  array. The original's key: `LOG_ROWS`. RTL "
                      "parameters: `ROWS`, `TWICE`.\n- **`bytes`** (power of two: 1 to 256; "
                      "default 64): size"));
  EXPECT_THAT(page, HasSubstr(" RTL parameter: `BYTES`.\n"));
  for (KeyDescription& key : toy.keys) key.original.clear();
  EXPECT_THAT(MarkdownPage(toy), Not(HasSubstr("original")));
}

}  // namespace
}  // namespace kiln::hardware
