// Checks budgets before nlohmann/json parses, and finds keys that occur twice.
#include "kiln/support/json_reader.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/hex.h"

namespace kiln {
namespace {

constexpr size_t kMaxShown = 60;

// Checks what the text asks for before it is parsed. Writing and copying recurse; a value of one
// byte takes 16 and more of memory. Each value but the first follows a bracket, a comma or a colon.
Status CheckBudgets(std::string_view text, std::string_view source) {
  if (std::ssize(text) > budgets::kJsonBytes) {
    return ErrorAt(source, "", fmt::format("{} bytes are too many", text.size()),
                   fmt::format("at most {}", budgets::kJsonBytes));
  }
  int64_t depth = 0, values = 1;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string && letter == '\\') {
      ++i;  // an escaped quote does not end the string
    } else if (letter == '"') {
      in_string = !in_string;
    } else if (!in_string && (letter == '[' || letter == '{')) {
      ++values;
      if (++depth > budgets::kJsonDepth) {
        return ErrorAt(source, "", "lists and objects are nested too deeply",
                       fmt::format("at most {} levels", budgets::kJsonDepth));
      }
    } else if (!in_string && (letter == ']' || letter == '}')) {
      --depth;
    } else if (!in_string && (letter == ',' || letter == ':')) {
      ++values;
    }
    if (values > budgets::kJsonValues) {
      return ErrorAt(source, "", "has too many keys and values",
                     fmt::format("at most {}", budgets::kJsonValues));
    }
  }
  return OkStatus();
}

// Returns the error for text that is not JSON. `error.byte` counts the bytes read, the one at fault
// included. The library's message is "[...] parse error at ...: FAULT; last read: 'TEXT'; expected
// TOKEN", with the last part where the parser knows what belongs there. TEXT is left out, because
// it may hold any bytes, and the line and the column say where it stands.
Status SyntaxError(std::string_view text, std::string_view source, const Json::parse_error& error) {
  const std::string_view before =
      text.substr(0, std::min(text.size(), error.byte > 0 ? error.byte - 1 : 0));
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t line_start = before.rfind('\n') + 1;  // 0 where there is no line before
  std::string_view fault = error.what();
  if (const size_t colon = fault.find(": "); colon != fault.npos) fault.remove_prefix(colon + 2);
  // The library's names of tokens: TEXT can look like this part, too.
  constexpr std::string_view kTokens[] = {"','",
                                          "':'",
                                          "']'",
                                          "'}'",
                                          "'['",
                                          "'{'",
                                          "end of input",
                                          "string literal",
                                          "'[', '{', or a literal"};
  const size_t quoted = fault.find("; last read: '");
  std::string remedy;
  size_t end = quoted;
  for (const std::string_view token : kTokens) {
    const std::string expected = fmt::format("; expected {}", token);
    if (!fault.ends_with(expected)) continue;
    remedy = fmt::format("use {}", token);
    end = std::min(quoted, fault.size() - expected.size());
  }
  fault = fault.substr(0, end);
  return ErrorAt(source, fmt::format("line {}, column {}", line, before.size() - line_start + 1),
                 fmt::format("is no JSON: {}", fault), remedy);
}

// Builds a value from the events of the library's parser, and finds repeated keys. Json::parse with
// a callback could do so, too, but scans a whole list after each of its objects: 200,000 of them
// take minutes.
class JsonBuilder final : public nlohmann::json_sax<Json> {
 public:
  // Returns the value, which is whole if the parser has found no fault.
  Json Take() { return std::move(root_); }
  // Returns the first key that an object has twice.
  const std::optional<std::string>& twice() const { return twice_; }
  // Returns the parser's fault if it is one of syntax; the other one is a number beyond binary64.
  const std::optional<Json::parse_error>& syntax_error() const { return syntax_error_; }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string& /*text*/) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t& value) override { return Add(std::move(value)); }
  bool start_object(size_t /*elements*/) override { return Open(Json::object()); }
  bool start_array(size_t /*elements*/) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    const auto [at, added] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!added && !twice_.has_value()) twice_ = name;
    member_ = &at->second;
    return true;
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& fault) override {
    if (const auto* error = dynamic_cast<const Json::parse_error*>(&fault))
      syntax_error_.emplace(*error);
    return false;
  }

 private:
  // Puts a value where the text has it, and returns it there.
  Json* Put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (!open_.back()->is_array()) {
      *member_ = std::move(value);
      return member_;
    }
    auto& list = open_.back()->get_ref<Json::array_t&>();
    list.push_back(std::move(value));
    return &list.back();
  }
  bool Add(Json value) {
    Put(std::move(value));
    return true;
  }
  bool Open(Json value) {
    open_.push_back(Put(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // the lists and objects that enclose the current position
  Json* member_ = nullptr;   // the place of the value that follows the last key
  std::optional<std::string> twice_;
  std::optional<Json::parse_error> syntax_error_;
};

}  // namespace

StatusOr<Json> ParseJson(std::string_view text, std::string_view source) {
  KILN_RETURN_IF_ERROR(CheckBudgets(text, source));
  JsonBuilder builder;
  if (!Json::sax_parse(text, &builder)) {
    if (builder.syntax_error().has_value())
      return SyntaxError(text, source, *builder.syntax_error());
    return ErrorAt(source, "", "holds a number that binary64 cannot", "numbers below 1.8e308");
  }
  if (builder.twice().has_value()) {
    const std::string quoted = Shown(*builder.twice());
    return ErrorAt(source, fmt::format("key '{}'", quoted.substr(1, quoted.size() - 2)),
                   "occurs twice in one object", "each key once");
  }
  return builder.Take();
}

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

StatusOr<Json> ReadJson(const std::filesystem::path& file) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, budgets::kJsonBytes));
  KILN_ASSIGN_OR_RETURN(Json json, ParseJson(text, file.string()));
  if (!json.is_object())
    return ErrorAt(file.string(), "", "is no JSON object", "an object: {\"key\": value}");
  return json;
}

bool HasFormat(const Json& json, std::string_view format) {
  const auto at = json.find("format");
  return at != json.end() && *at == format;
}

void JsonReader::Fail(const std::string& path, std::string_view fault, std::string_view remedy) {
  if (status_.ok()) status_ = ErrorAt(file_, fmt::format("key '{}'", path), fault, remedy);
}

const Json* JsonReader::Find(const Json& object, const std::string& key, const std::string& path) {
  if (object.is_object()) {
    if (const auto at = object.find(key); at != object.end()) return &*at;
  }
  Fail(path.empty() ? key : path, "is missing", "");
  return nullptr;
}

uint64_t JsonReader::Count(const Json& object, const std::string& key, const std::string& path,
                           uint64_t most) {
  const Json* value = Find(object, key, path);
  if (value == nullptr) return 0;
  if (value->is_number_unsigned() && value->get<uint64_t>() <= most) return value->get<uint64_t>();
  Fail(path.empty() ? key : path, Shown(*value) + " is no count",
       fmt::format("a whole number from 0 to {}", most));
  return 0;
}

std::string JsonReader::Text(const Json& object, const std::string& key, const std::string& path) {
  const Json* value = Find(object, key, path);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  Fail(path.empty() ? key : path, Shown(*value) + " is no text", "text");
  return "";
}

std::vector<uint8_t> JsonReader::Hex(const Json& object, const std::string& key,
                                     const std::string& path) {
  const std::string digits = Text(object, key, path);
  if (auto bytes = ParseHex(digits)) return *std::move(bytes);
  Fail(path.empty() ? key : path, "has other than pairs of hex digits", "0-9 a-f");
  return {};
}

// Returns an empty T if the key is missing or has a value of another type.
template <typename T>
const T& JsonReader::Held(const Json& object, const std::string& key, const std::string& path,
                          const char* fault, const char* remedy) {
  static const T kNothing;
  const Json* value = Find(object, key, path);
  if (value == nullptr) return kNothing;
  if (const auto* held = value->get_ptr<const T*>(); held != nullptr) return *held;
  Fail(path.empty() ? key : path, fault, remedy);
  return kNothing;
}

const Json::array_t& JsonReader::List(const Json& object, const std::string& key,
                                      const std::string& path) {
  return Held<Json::array_t>(object, key, path, "is no list", "a list");
}

const Json::object_t& JsonReader::Map(const Json& object, const std::string& key,
                                      const std::string& path) {
  return Held<Json::object_t>(object, key, path, "is no object", "names with their values");
}

}  // namespace kiln
