// ParseJson and JsonReader: budgets at their edges, positions of syntax errors, getters.

#include "kiln/support/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/random.h"
#include "kiln/support/status.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string JsonErrorOf(std::string_view text) {
  return MessageOf(ParseJson(text, "x.json").status());
}

TEST(Json, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_EQ(JsonErrorOf("{\"a\": [1,\n  2,\n  add]}"),
            "x.json: line 3, column 3: is no JSON: syntax error while parsing value - invalid "
            "literal");
  EXPECT_EQ(JsonErrorOf("[1 2]"),
            "x.json: line 1, column 4: is no JSON: syntax error while parsing array - unexpected "
            "number literal; use ']'");
  EXPECT_THAT(JsonErrorOf(""), HasSubstr("x.json: line 1, column 1: is no JSON"));
  EXPECT_THAT(JsonErrorOf("{"), HasSubstr("x.json: line 1, column 2: is no JSON"));
  EXPECT_THAT(JsonErrorOf("\n\n"), HasSubstr("x.json: line 3, column 1: is no JSON"));
  EXPECT_THAT(JsonErrorOf("{} x"), HasSubstr("x.json: line 1, column 4: is no JSON"));
}

TEST(Json, NumbersBeyondBinary64AreErrors) {
  EXPECT_EQ(JsonErrorOf("[1e999]"),
            "x.json: holds a number that binary64 cannot; numbers below 1.8e308");
  EXPECT_EQ(JsonErrorOf("{\"a\": -1e400}"),
            "x.json: holds a number that binary64 cannot; numbers below 1.8e308");
  EXPECT_EQ(JsonErrorOf("[1e308, 1e-999, 123456789012345678901234567890]"), "");
}

// Text of a file does not reach the message, even if it looks like a part of one.
TEST(Json, SyntaxErrorsQuoteNoText) {
  for (const char* text :
       {"[\"'; expected a pony", "[x'; expected pony", "['; expected ']', pony"}) {
    EXPECT_EQ(JsonErrorOf(text).find("pony"), std::string::npos) << JsonErrorOf(text);
  }
}

// Bytes of a file do not reach the message: neither control characters nor broken UTF-8.
TEST(Json, SyntaxErrorsQuoteNoBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string letter(1, static_cast<char>(byte));
    const std::string text = "[\"" + letter + "'; expected " + letter;
    for (const char c : JsonErrorOf(text)) {
      EXPECT_TRUE(c >= ' ' && c <= '~') << byte << ": " << JsonErrorOf(text);
    }
  }
}

TEST(Json, DepthAtTheBudget) {
  const auto nested = [](int64_t levels) {
    return ParseJson(std::string(static_cast<size_t>(levels), '[') +
                         std::string(static_cast<size_t>(levels), ']'),
                     "x.json");
  };
  EXPECT_TRUE(nested(budgets::kJsonDepth).ok());
  EXPECT_EQ(MessageOf(nested(budgets::kJsonDepth + 1).status()),
            "x.json: lists and objects are nested too deeply; at most 32 levels");
}

// A value of one byte takes 16 and more of memory.
TEST(Json, ValuesAtTheBudget) {
  const auto values = [](int64_t count) {  // the list is a value, too
    std::string text = "[0";
    for (int64_t i = 2; i < count; ++i) text += ",0";
    return ParseJson(text + "]", "x.json");
  };
  EXPECT_TRUE(values(budgets::kJsonValues).ok());
  EXPECT_EQ(MessageOf(values(budgets::kJsonValues + 1).status()),
            "x.json: has too many keys and values; at most 4194304");
  EXPECT_TRUE(
      ParseJson("[\"" + std::string(static_cast<size_t>(budgets::kJsonValues) + 1, ',') + "\"]",
                "x.json")
          .ok());
}

// A parser that looks through a list whenever one of its elements ends would need days, so that
// this test would not end in time.
TEST(Json, ListsOfManyObjectsTakeLinearTime) {
  std::string text = "[{}";
  for (int i = 1; i < 1'000'000; ++i) text += i % 2 == 0 ? ",{}" : ",[]";
  const StatusOr<Json> list = ParseJson(text + "]", "x.json");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), 1'000'000U);
  EXPECT_TRUE(list->front().is_object());
  EXPECT_TRUE(list->back().is_array());
}

// Appends a random value as text.
void AppendValue(Random& random, int depth, std::string* text) {
  constexpr const char* kScalars[] = {
      "null", "true",    "false",           "0",    "-7",
      "1.25", "-3.5e-3", "\"a\\n\\u00e9\"", "\"\"", "18446744073709551615"};
  const int64_t kind = random.Between(0, depth > 0 ? 3 : 1);
  if (kind < 2) {
    *text += kScalars[random.Between(0, std::ssize(kScalars) - 1)];
    return;
  }
  const int64_t size = random.Between(0, 4);
  *text += kind == 2 ? "[" : "{";
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0) *text += " ,\n";
    if (kind == 3) *text += fmt::format("\"key {}\": ", i);
    AppendValue(random, depth - 1, text);
  }
  *text += kind == 2 ? "]" : "}";
}

TEST(Json, ValuesAreTheLibrarys) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    AppendValue(random, 5, &text);
    const StatusOr<Json> json = ParseJson(text, "x.json");
    ASSERT_TRUE(json.ok()) << json.status() << text;
    EXPECT_EQ(*json, Json::parse(text)) << text;
  }
}

TEST(Json, KeysStandOnceInAnObject) {
  EXPECT_EQ(JsonErrorOf(R"({"a": {"b": 1, "c": [{"b": 2}]}, "b": {"b": 3}})"), "");
  EXPECT_EQ(JsonErrorOf(R"({"a": {"b": 1, "c": {"d": 2, "e": 3, "d": 4}}, "a": 1})"),
            "x.json: key 'd': occurs twice in one object; each key once");
}

TEST(Json, BytesAtTheBudget) {
  std::string text = "[]";
  text.resize(static_cast<size_t>(budgets::kJsonBytes), ' ');
  EXPECT_TRUE(ParseJson(text, "x.json").ok());
  text += ' ';
  EXPECT_EQ(MessageOf(ParseJson(text, "x.json").status()),
            "x.json: 268435457 bytes are too many; at most 268435456");
}

TEST(JsonReader, NotesTheFirstError) {
  const Json json = *ParseJson(R"({"n": 7, "list": [1], "hex": "0aff", "odd": "0"})", "x.json");
  JsonReader reader("x.json");
  EXPECT_EQ(reader.Count(json, "n", "", 7), 7U);
  EXPECT_EQ(reader.List(json, "list", "").size(), 1U);
  EXPECT_THAT(reader.Hex(json, "hex", ""), ElementsAre(0x0a, 0xff));
  EXPECT_TRUE(reader.status().ok());
  EXPECT_EQ(reader.Count(json, "n", "root.n", 6), 0U);
  EXPECT_EQ(reader.Text(json, "missing", ""), "");
  EXPECT_TRUE(reader.Map(json, "list", "").empty());
  EXPECT_TRUE(reader.Hex(json, "odd", "").empty());
  EXPECT_EQ(MessageOf(reader.status()),
            "x.json: key 'root.n': 7 is no count; a whole number from 0 to 6");
}

}  // namespace
}  // namespace kiln
