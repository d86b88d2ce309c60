// Reads JSON with errors that name the file, and the key or the line.
#ifndef KILN_SUPPORT_JSON_READER_H_
#define KILN_SUPPORT_JSON_READER_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

using Json = nlohmann::json;

// Parses a text. Errors: text that is not JSON, with line and column (in bytes, from 1); a key that
// an object has twice; more bytes, values or levels than the budgets allow (support/budgets.def).
// `source` names the text in messages.
StatusOr<Json> ParseJson(std::string_view text, std::string_view source);
// Returns a value as text for messages, cut after 60 bytes.
std::string Shown(const Json& value);

// Reads a file whose root is an object.
StatusOr<Json> ReadJson(const std::filesystem::path& file);
// Returns whether the value of the key "format" is `format`.
bool HasFormat(const Json& json, std::string_view format);

// Reads members of objects and keeps the first error. A getter that finds no value of its type
// notes an error and returns 0 or an empty value. `path` is the key's full name in messages; empty:
// `key`.
class JsonReader {
 public:
  // `file` names the text in messages.
  explicit JsonReader(std::string file) : file_(std::move(file)) {}

  const Status& status() const { return status_; }
  // Notes an error at a key, unless there was one before.
  void Fail(const std::string& path, std::string_view fault, std::string_view remedy);
  // Returns the value of a key. Notes an error and returns null if the key is missing.
  const Json* Find(const Json& object, const std::string& key, const std::string& path);
  // Returns a whole number from 0 to `most`.
  uint64_t Count(const Json& object, const std::string& key, const std::string& path,
                 uint64_t most);
  std::string Text(const Json& object, const std::string& key, const std::string& path);
  // Returns the bytes of a string of pairs of hex digits.
  std::vector<uint8_t> Hex(const Json& object, const std::string& key, const std::string& path);
  // Return a list and an object, which live as long as `object`.
  const Json::array_t& List(const Json& object, const std::string& key, const std::string& path);
  const Json::object_t& Map(const Json& object, const std::string& key, const std::string& path);

 private:
  template <typename T>
  const T& Held(const Json& object, const std::string& key, const std::string& path,
                const char* fault, const char* remedy);

  const std::string file_;
  Status status_ = OkStatus();
};

}  // namespace kiln

#endif  // KILN_SUPPORT_JSON_READER_H_
