// Tests of the strict YAML reader: values, errors with line and key, and budgets.
#include "kiln/support/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "kiln/support/budgets.h"

namespace kiln {
namespace {

enum class Colour { kRed, kGreen };

struct Settings {
  std::string name = "none";
  int rows = 16;
  double clock = 500;
  bool fast = false;
  Colour colour = Colour::kRed;
  std::vector<int64_t> sizes;
  std::vector<std::string> words;
  int parsed = 0;
  int inner_depth = 1;
  std::vector<int> items;
};

StatusOr<int> FindNumeral(std::string_view text) {
  if (text == "one") return 1;
  return ErrorAt("", "", "unknown numeral '" + std::string(text) + "'", "one of: one");
}

StatusOr<Settings> Read(std::string_view text) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(text, "a.yaml"));
  Settings s;
  const YamlMap root = file.root();
  root.Require({"name"});
  root.String("name", &s.name);
  root.Int("rows", &s.rows, 1, 256);
  root.Double("clock", &s.clock, 0.5, 4000);
  root.Bool("fast", &s.fast);
  root.Choice<Colour>("colour", &s.colour, {{"red", Colour::kRed}, {"green", Colour::kGreen}});
  root.Ints("sizes", &s.sizes, 0, 9);
  root.Strings("words", &s.words);
  root.Parsed("parsed", &s.parsed, FindNumeral);
  root.Map("inner").Int("depth", &s.inner_depth, 0, 4);
  for (const YamlMap& item : root.Maps("items")) {
    int value = 0;
    item.Int("value", &value, 0, 100);
    s.items.push_back(value);
  }
  KILN_RETURN_IF_ERROR(file.Finish());
  return s;
}

std::string ErrorOf(std::string_view text) {
  const auto result = Read(text);
  return result.ok() ? "no error" : MessageOf(result.status());
}

TEST(Yaml, ReadsEveryKind) {
  const auto s = Read(
      "name: little  # comment\nrows: 32\nclock: 1.5e3\nfast: true\ncolour: green\nsizes: [1, 2, "
      "3]\n"
      "words:\n  - a\n  - \"b c\"\nparsed: one\ninner: {depth: 3}\nitems:\n  - value: 7\n  - "
      "{value: 9}\n");
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->name, "little");
  EXPECT_EQ(s->rows, 32);
  EXPECT_EQ(s->clock, 1500);
  EXPECT_TRUE(s->fast);
  EXPECT_EQ(s->colour, Colour::kGreen);
  EXPECT_EQ(s->sizes, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(s->words, (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(s->parsed, 1);
  EXPECT_EQ(s->inner_depth, 3);
  EXPECT_EQ(s->items, (std::vector<int>{7, 9}));
}

TEST(Yaml, AbsentKeysKeepTheirDefaults) {
  const auto s = Read("name: x\n");
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->rows, 16);
  EXPECT_EQ(s->inner_depth, 1);
}

struct ErrorCase {
  std::string_view text;
  std::string_view message;
};

class YamlErrors : public testing::TestWithParam<ErrorCase> {};

TEST_P(YamlErrors, OneLineThatNamesFileLineKeyAndRemedy) {
  EXPECT_EQ(ErrorOf(GetParam().text), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, YamlErrors,
    testing::Values(
        ErrorCase{"rows: 3\n", "a.yaml: line 1: key 'name' is missing; add it, it has no default"},
        ErrorCase{"rows: 3\nnmae: a\n",
                  "a.yaml: line 2, key 'nmae': unknown key; did you mean 'name'?"},
        ErrorCase{"name: x\nNaMe: y\n",
                  "a.yaml: line 2, key 'NaMe': unknown key; did you mean 'name'?"},
        ErrorCase{
            "name: x\nrows: many\n",
            "a.yaml: line 2, key 'rows': 'many' is not an integer; a whole number from 1 to 256"},
        ErrorCase{
            "name: x\nrows: \"3\"\n",
            "a.yaml: line 2, key 'rows': '3' is not an integer; a whole number from 1 to 256"},
        ErrorCase{
            "name: x\nrows: 3.0\n",
            "a.yaml: line 2, key 'rows': '3.0' is not an integer; a whole number from 1 to 256"},
        ErrorCase{"name: x\nrows: 99999999999999999999\n",
                  "a.yaml: line 2, key 'rows': '99999999999999999999' is not an integer; a whole "
                  "number from 1 to 256"},
        ErrorCase{"name: x\nrows: 0\n",
                  "a.yaml: line 2, key 'rows': 0 is out of range; a whole number from 1 to 256"},
        ErrorCase{"name: x\nclock: .nan\n",
                  "a.yaml: line 2, key 'clock': '.nan' is not a number; a number from 0.5 to 4000"},
        ErrorCase{"name: x\nclock: inf\n",
                  "a.yaml: line 2, key 'clock': 'inf' is not a number; a number from 0.5 to 4000"},
        ErrorCase{"name: x\nfast: yes\n",
                  "a.yaml: line 2, key 'fast': 'yes' is not a boolean; true or false"},
        ErrorCase{"name: x\ncolour: blue\n",
                  "a.yaml: line 2, key 'colour': unknown value 'blue'; one of: red, green"},
        ErrorCase{"name: x\nparsed: two\n",
                  "a.yaml: line 2, key 'parsed': unknown numeral 'two'; one of: one"},
        ErrorCase{"name:\n", "a.yaml: line 1, key 'name': is empty; write a single value"},
        ErrorCase{"name: ''\n", "a.yaml: line 1, key 'name': is empty; write a single value"},
        ErrorCase{"name: [x]\n", "a.yaml: line 1, key 'name': is a list; write a single value"},
        ErrorCase{
            "name: x\nsizes: 3\n",
            "a.yaml: line 2, key 'sizes': is not a list; a list of whole numbers from 0 to 9"},
        ErrorCase{"name: x\nsizes: [1, 12]\n",
                  "a.yaml: line 2, key 'sizes': item 1 is not one it can hold; a list of whole "
                  "numbers from 0 to 9"},
        ErrorCase{"name: x\ninner: 3\n",
                  "a.yaml: line 2, key 'inner': is a single value; a mapping of keys to values"},
        ErrorCase{
            "name: x\ninner:\n  depth: 9\n",
            "a.yaml: line 3, key 'inner.depth': 9 is out of range; a whole number from 0 to 4"},
        ErrorCase{"name: x\nitems:\n  - value: 1\n  - valeu: 2\n",
                  "a.yaml: line 4, key 'items[1].valeu': unknown key; did you mean 'value'?"},
        ErrorCase{"name: x\nitems: [3]\n",
                  "a.yaml: line 2, key 'items[0]': is a single value; a mapping of keys to values"},
        ErrorCase{"name: x\ncolor: red\n",
                  "a.yaml: line 2, key 'color': unknown key; did you mean 'colour'?"},
        ErrorCase{"name: x\nelephants: 1\n",
                  "a.yaml: line 2, key 'elephants': unknown key; one of: name, rows, clock, fast, "
                  "colour, sizes, words, "
                  "parsed, inner, items"},
        ErrorCase{"name: x\nname: y\n",
                  "a.yaml: line 2: key 'name' occurs twice, first in line 1; keep one"},
        ErrorCase{"name: &a x\n",
                  "a.yaml: line 1: anchors and aliases are not supported; write the value out"},
        ErrorCase{"name: !!str x\n",
                  "a.yaml: line 1: tag 'tag:yaml.org,2002:str' is not supported; leave it out"},
        ErrorCase{"? [a, b]\n: 1\n",
                  "a.yaml: line 1: a key is not a single name; one name before the colon"},
        ErrorCase{"", "a.yaml: is empty; a mapping of keys to values"},
        ErrorCase{"- 1\n", "a.yaml: line 1: the document is a list; a mapping of keys to values"},
        ErrorCase{"name: x\n---\nname: y\n",
                  "a.yaml: holds more than one YAML document; one document a file"},
        // All errors, in the order of the file and not of reading.
        ErrorCase{"fast: 2\nrows: 0\nname: x\n",
                  "a.yaml: line 1, key 'fast': '2' is not a boolean; true or false; also line 2, "
                  "key 'rows': 0 is out of range; a whole number from 1 to 256"},
        // A key that is missing comes last, unless a misspelt key is meant.
        ErrorCase{"fsat: true\n",
                  "a.yaml: line 1, key 'fsat': unknown key; did you mean 'fast'?; also line 1: key "
                  "'name' is missing; add it, it has no default"},
        ErrorCase{"nmae: x\ninner: {depth: 9}\n",
                  "a.yaml: line 1, key 'nmae': unknown key; did you mean 'name'?; also line 2, key "
                  "'inner.depth': 9 is out of range; a whole number from 0 to 4"},
        // A list of all keys is given once.
        ErrorCase{"name: x\nelephants: 1\nzebras: 2\n",
                  "a.yaml: line 2, key 'elephants': unknown key; one of: name, rows, clock, fast, "
                  "colour, sizes, words, parsed, inner, items; also line 3, key 'zebras': unknown "
                  "key"}));

// What does not fit into the line is counted.
TEST(Yaml, CountsMistakesBeyondALine) {
  std::string text = "name: x\nitems:\n";
  for (int i = 0; i < 300; ++i) text += "  - {value: 101}\n";
  const std::string message = ErrorOf(text);
  EXPECT_LT(message.size(), 1960u);
  EXPECT_THAT(message, testing::StartsWith("a.yaml: line 3, key 'items[0].value': 101 is out of "
                                           "range; a whole number from 0 to 100; also line 4, key "
                                           "'items[1].value': 101 is out of range; also line 5"));
  const std::vector<std::string> parts = absl::StrSplit(message, "101 is out");
  EXPECT_THAT(message,
              testing::EndsWith(fmt::format("; and {} more mistakes", 301 - parts.size())));
}

// Of two faults of one key, the one about its value remains.
TEST(YamlMap, AKeyHasOneError) {
  for (const bool rule_first : {true, false}) {
    const auto file = YamlFile::Parse("rows: 0\n", "a.yaml");
    int rows = 4;
    if (rule_first) file->root().Fail("rows", "exceeds the columns", "fewer");
    file->root().Int("rows", &rows, 1, 8);
    if (!rule_first) file->root().Fail("rows", "exceeds the columns", "fewer");
    EXPECT_EQ(MessageOf(file->Finish()),
              "a.yaml: line 1, key 'rows': 0 is out of range; a whole number from 1 to 8");
  }
}

// Keys of another kind of document are unknown, which says nothing that its kind does not say.
TEST(YamlMap, ADocumentOfAnotherKindHasOneError) {
  const auto file = YamlFile::Parse("size: 2\nkind: recipe\ncolour: red\n", "a.yaml");
  ASSERT_TRUE(file.ok());
  file->root().Require({"name"});
  file->root().FailKind("kind", "'recipe' is not codebook", "kind: codebook");
  EXPECT_EQ(MessageOf(file->Finish()),
            "a.yaml: line 2, key 'kind': 'recipe' is not codebook; kind: codebook");
}

// A rule between keys says nothing while the value of one of them is unknown.
TEST(YamlMap, ARuleIsSilentWhileAKeyIsWrong) {
  const auto message = [](std::string_view text) {
    const auto file = YamlFile::Parse(text, "a.yaml");
    int rows = 4, columns = 4;
    const YamlMap root = file->root(), inner = root.Map("inner");
    root.Int("rows", &rows, 1, 8);
    root.Int("columns", &columns, 1, 8);
    inner.Int("depth", &rows, 1, 8);
    if (columns > rows) root.Fail("columns", "exceeds the rows", "fewer");
    if (rows > 4) root.Fail("rows", "exceeds 4", "fewer");
    return MessageOf(file->Finish());
  };
  EXPECT_EQ(message("rows: 5\ncolumns: 6\n"),
            "a.yaml: line 1, key 'rows': exceeds 4; fewer; also line 2, key 'columns': exceeds the "
            "rows");
  EXPECT_EQ(message("rwos: 8\ncolumns: 6\n"),
            "a.yaml: line 1, key 'rwos': unknown key; did you mean 'rows'?");
  EXPECT_EQ(message("columns: 6\nrows: 88\n"),
            "a.yaml: line 2, key 'rows': 88 is out of range; a whole number from 1 to 8");
  EXPECT_EQ(message("columns: 6\ninner: {depth: 0}\n"),
            "a.yaml: line 2, key 'inner.depth': 0 is out of range; a whole number from 1 to 8");
}

TEST(Yaml, TextThatIsNoYamlNamesItsLine) {
  EXPECT_EQ(ErrorOf("name: x\nrows: [1, 2\n").rfind("a.yaml: line ", 0), 0u);
  EXPECT_EQ(ErrorOf("name: x\n\trows: 1\n").rfind("a.yaml: line 2: not YAML: ", 0), 0u);
}

TEST(Yaml, DeepNestingIsRefused) {
  std::string text = "name: ";
  for (int i = 0; i < 1000; ++i) text += "{a: ";
  EXPECT_EQ(ErrorOf(text), "a.yaml: line 1: nested too deeply; at most 32 levels");
  EXPECT_EQ(ErrorOf("name: " + std::string(100000, '[')).rfind("a.yaml: line 1: ", 0), 0u);
}

// Limits: one below, at, and one above.
TEST(Yaml, ListsHoldUpTo4096Items) {
  for (const char* key : {"sizes", "words", "items"}) {
    const std::string item = key == std::string("items") ? "{value: 1}, " : "7, ";
    for (const auto& [count, fits] : {std::pair(4095, true), {4096, true}, {4097, false}}) {
      std::string text = std::string("name: x\n") + key + ": [";
      for (int i = 0; i < count; ++i) text += item;
      text.resize(text.size() - 2);
      const auto settings = Read(text + "]\n");
      EXPECT_EQ(settings.ok(), fits) << key << " of " << count << ": " << settings.status();
      if (settings.ok()) {
        EXPECT_EQ(
            std::max({settings->sizes.size(), settings->words.size(), settings->items.size()}),
            static_cast<size_t>(count));
      }
    }
  }
}

TEST(Yaml, NumbersHoldTheirEnds) {
  for (const auto& [rows, fits] :
       {std::pair(0, false), {1, true}, {2, true}, {255, true}, {256, true}, {257, false}}) {
    EXPECT_EQ(Read("name: x\nrows: " + std::to_string(rows) + "\n").ok(), fits) << rows;
  }
  for (const auto& [clock, fits] : {std::pair("0.4999", false),
                                    {"0.5", true},
                                    {"0.50001", true},
                                    {"4000", true},
                                    {"4000.001", false}}) {
    EXPECT_EQ(Read(std::string("name: x\nclock: ") + clock + "\n").ok(), fits) << clock;
  }
  for (const auto& [size, fits] : {std::pair(-1, false), {0, true}, {9, true}, {10, false}}) {
    EXPECT_EQ(Read("name: x\nsizes: [" + std::to_string(size) + "]\n").ok(), fits) << size;
  }
}

TEST(Yaml, DepthAtTheBudget) {
  const auto nested = [](int64_t levels) {  // the root is a level, too
    std::string text = "name: x\nextra: ", end;
    for (int64_t i = 1; i < levels; ++i) text += "[", end += "]";
    return ErrorOf(text + "1" + end + "\n");
  };
  EXPECT_THAT(nested(budgets::kYamlDepth), testing::HasSubstr("line 2, key 'extra': unknown key"));
  EXPECT_EQ(nested(budgets::kYamlDepth + 1),
            "a.yaml: line 2: nested too deeply; at most 32 levels");
}

TEST(Yaml, BytesAtTheBudget) {
  const std::string text = "name: x\n";
  for (const int64_t bytes : {budgets::kYamlBytes - 1, budgets::kYamlBytes}) {
    EXPECT_EQ(ErrorOf(text + std::string(static_cast<size_t>(bytes) - text.size(), '\n')),
              "no error");
  }
  EXPECT_EQ(ErrorOf(std::string(budgets::kYamlBytes + 1, ' ')),
            "a.yaml: 1048577 bytes are too many for settings; at most 1048576");
}

// Keys and items, however they are spread.
TEST(Yaml, ValuesAtTheBudget) {
  const auto keys = [](int64_t count) {
    std::string text = "name: x\n";
    for (int64_t i = 1; i < count; ++i) text += fmt::format("k{}: 1\n", i);
    return ErrorOf(text);
  };
  EXPECT_EQ(keys(budgets::kYamlValues).rfind("a.yaml: line 2, key 'k1': unknown key", 0), 0u);
  EXPECT_EQ(keys(budgets::kYamlValues + 1),
            "a.yaml: line 65537: too many keys and list items; at most 65536");
  const auto items = [](int64_t count) {
    std::string text = "name: x\nextra:\n";
    for (int64_t i = 2; i < count; ++i) text += "- 1\n";
    return ErrorOf(text);
  };
  EXPECT_EQ(items(budgets::kYamlValues).rfind("a.yaml: line 2, key 'extra': unknown key", 0), 0u);
  EXPECT_EQ(items(budgets::kYamlValues + 1),
            "a.yaml: line 65537: too many keys and list items; at most 65536");
}

TEST(Yaml, KeyAtTheBudget) {
  const auto key = [](int64_t bytes) {
    return ErrorOf("name: x\n? " + std::string(bytes, 'k') + "\n: 1\n");
  };
  EXPECT_EQ(key(budgets::kYamlKeyBytes).rfind("a.yaml: line 2, key 'kkkk", 0), 0u);
  EXPECT_EQ(key(budgets::kYamlKeyBytes + 1),
            "a.yaml: line 2: a key of 4097 bytes is too long; at most 4096");
}

TEST(Yaml, ListItemsAtTheBudget) {
  const auto list = [](int64_t count) {
    std::string text = "name: x\nsizes:\n";
    for (int64_t i = 0; i < count; ++i) text += "- 1\n";
    return ErrorOf(text);
  };
  EXPECT_EQ(list(budgets::kYamlListItems), "no error");
  EXPECT_EQ(list(budgets::kYamlListItems + 1),
            "a.yaml: line 2, key 'sizes': has 4097 items; at most 4096");
}

// A fault that a default causes has no line in the file.
TEST(YamlMap, NamesAKeyThatHasItsDefault) {
  const auto file = YamlFile::Parse("rows: 3\n", "a.yaml");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->root().Has("rows"));
  file->root().Fail("columns", "4 is above the rows", "at most 3");
  EXPECT_EQ(MessageOf(file->Finish()),
            "a.yaml: key 'columns', which has its default: 4 is above the rows; at most 3");
}

}  // namespace
}  // namespace kiln
