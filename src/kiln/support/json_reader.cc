#include "kiln/support/json_reader.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

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

}  // namespace

StatusOr<Json> ParseJson(std::string_view text, std::string_view source) {
  KILN_RETURN_IF_ERROR(CheckBudgets(text, source));
  // The keys read so far of each object that encloses the current position.
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  const auto look = [&](int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open.back().insert(key).second && !twice.has_value()) twice = key;
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, look);
  } catch (const Json::parse_error& error) {
    return SyntaxError(text, source, error);
  } catch (const Json::out_of_range&) {
    return ErrorAt(source, "", "holds a number that binary64 cannot", "numbers below 1.8e308");
  }
  if (twice.has_value()) {
    const std::string quoted = Shown(*twice);
    return ErrorAt(source, fmt::format("key '{}'", quoted.substr(1, quoted.size() - 2)),
                   "stands twice in one object", "each key once");
  }
  return json;
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
    return ErrorAt(file.string(), "", "is no JSON object", "a program or runtime vector");
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
