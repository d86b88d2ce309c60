// Reading vectors from JSON: keys that have to be there, with errors that name file and key.
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

// JSON of a text; discarded (is_discarded) where it is none. Errors: a key that an object has
// twice; more than a budget (support/budgets.def) allows; `source` names the text in them.
StatusOr<Json> ParseJson(std::string_view text, std::string_view source);
// A value for messages: cut off where it is long.
std::string Shown(const Json& value);

// A file whose root is an object.
StatusOr<Json> ReadJson(const std::filesystem::path& file);
// Whether its key "format" is this one.
bool HasFormat(const Json& json, std::string_view format);

// Getters return a value of no meaning where something is wrong, and note it; the first fault
// stays. `path` is the key's full name for messages; empty: the key itself.
class JsonReader {
 public:
  explicit JsonReader(std::string file) : file_(std::move(file)) {}

  const Status& status() const { return status_; }
  void Fail(const std::string& path, std::string_view fault, std::string_view remedy);
  const Json* Find(const Json& object, const std::string& key,
                   const std::string& path);  // null where it is missing
  uint64_t Count(const Json& object, const std::string& key, const std::string& path,
                 uint64_t most);
  std::string Text(const Json& object, const std::string& key, const std::string& path);
  std::vector<uint8_t> Hex(const Json& object, const std::string& key, const std::string& path);
  // A list, which stands as long as the object; nothing where it is none.
  const Json::array_t& List(const Json& object, const std::string& key, const std::string& path);
  // An object, likewise.
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
