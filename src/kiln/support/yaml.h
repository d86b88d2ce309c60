// Strict reading of YAML settings: design points, recipes, design spaces.
//
// The reader is asked for each key it knows; what it was not asked for is an unknown key. Getters keep the default that
// stands in `*value` when a key is absent, and note an error when its value is wrong; Finish reports the first error in
// the order of the file, so that a parser reads straight through:
//
//   KILN_ASSIGN_OR_RETURN(YamlFile file, YamlFile::Parse(text, source));
//   YamlMap root = file.root();
//   Config config;
//   root.Require({"name"});
//   root.String("name", &config.name);
//   root.Int("array_rows", &config.array_rows, 1, 256);
//   root.Parsed("input_format", &config.input_format, FindFormat);
//   if (root.Has("array_rows") && config.array_rows % 2 != 0) root.Fail("array_rows", "... is odd", "an even number");
//   KILN_RETURN_IF_ERROR(file.Finish());
//
// Errors: "net.yaml: line 7, key 'array_rows': 'many' is not an integer; a whole number from 1 to 256".
//
// Strict means: no duplicate keys, no anchors or aliases, no second document, no empty values, quoted text is text and
// not a number, booleans are `true` and `false` only.
#ifndef KILN_SUPPORT_YAML_H_
#define KILN_SUPPORT_YAML_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

namespace internal {
struct YamlNode;
struct YamlState;
}  // namespace internal

// A mapping inside a file. Copies share their file's errors; a map outlives neither its YamlFile nor its copies' need.
class YamlMap {
 public:
  // Whether the file gives the key. Asking makes it a known one.
  bool Has(std::string_view key) const;
  std::vector<std::string> Keys() const;  // in file order; does not make them known
  // Notes an error for each key that is absent.
  void Require(std::initializer_list<std::string_view> keys) const;

  template <std::integral T>
  void Int(std::string_view key, T* value, int64_t low, int64_t high) const {
    static_assert(!std::same_as<T, bool>, "use Bool");
    int64_t wide = 0;
    if (ReadInt(key, low, high, &wide)) *value = static_cast<T>(wide);
  }
  void Double(std::string_view key, double* value, double low,
              double high) const;  // low <= value <= high, finite
  void Bool(std::string_view key, bool* value) const;
  void String(std::string_view key, std::string* value) const;  // not empty
  // What files that are written will hold in comments, each of one line: text without control characters.
  void Name(std::string_view key, std::string* value) const;
  // Lists; a value in place of a list is an error. At most budgets::kYamlListItems items.
  void Ints(std::string_view key, std::vector<int64_t>* values, int64_t low, int64_t high) const;
  void Doubles(std::string_view key, std::vector<double>* values, double low,
               double high) const;  // finite
  void Strings(std::string_view key, std::vector<std::string>* values) const;
  // Text that `find`, StatusOr<T>(std::string_view), turns into a value: the Find... function of an enumeration or
  // table. Its message becomes the fault and remedy.
  template <typename T, typename Find>
  void Parsed(std::string_view key, T* value, Find find) const {
    std::string text;
    if (!ReadText(key, &text)) return;
    if (auto found = find(std::string_view(text)); found.ok()) {
      *value = std::move(found).value();
    } else {
      Fail(key, MessageOf(found.status()), "");
    }
  }
  // One of a few names with the values they stand for.
  template <typename T>
  void Choice(std::string_view key, T* value,
              std::initializer_list<std::pair<std::string_view, T>> choices) const {
    std::string text;
    if (!ReadText(key, &text)) return;
    std::string names;
    for (const auto& [name, meaning] : choices) {
      if (name == text) {
        *value = meaning;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    Fail(key, "unknown value '" + text + "'", "one of: " + names);
  }

  YamlMap Map(std::string_view key) const;                // an empty map when absent
  std::vector<YamlMap> Maps(std::string_view key) const;  // a list of mappings; empty when absent

  // Notes an error about a key of this map ("" for the map itself), at its line.
  void Fail(std::string_view key, std::string_view fault, std::string_view remedy) const;
  int line() const;

 private:
  friend class YamlFile;
  YamlMap(std::shared_ptr<internal::YamlState> state, const internal::YamlNode* node,
          std::string path)
      : state_(std::move(state)), node_(node), path_(std::move(path)) {}
  const internal::YamlNode* Find(std::string_view key) const;
  bool ReadInt(std::string_view key, int64_t low, int64_t high, int64_t* value) const;
  bool ReadText(std::string_view key, std::string* text) const;
  std::string PathOf(std::string_view key) const;

  std::shared_ptr<internal::YamlState> state_;
  const internal::YamlNode* node_;
  std::string path_;  // "weights", "layers[2]"; empty at the root
};

// Text as a YAML value, quoted, so that a name like 16 or true reads back as text.
std::string YamlText(std::string_view text);

class YamlFile {
 public:
  // Parses a document whose root is a mapping. `source` names it in messages. Errors: not YAML (with line), not strict
  // (see above), beyond a budget (support/budgets.def).
  static StatusOr<YamlFile> Parse(std::string_view text, std::string_view source);
  static StatusOr<YamlFile> Load(const std::string& path);  // `source` is the path

  YamlMap root() const;
  // The first error noted, else the first key that nobody asked for, else OK. Call it last.
  Status Finish() const;

 private:
  explicit YamlFile(std::shared_ptr<internal::YamlState> state) : state_(std::move(state)) {}
  std::shared_ptr<internal::YamlState> state_;
};

}  // namespace kiln

#endif  // KILN_SUPPORT_YAML_H_
