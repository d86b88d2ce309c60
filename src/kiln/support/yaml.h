// Strict reader of YAML settings: design points, recipes, codebooks, design spaces.
//
// The reader calls a getter for each key that it knows; keys that no getter looked up are unknown
// keys. If a key is absent, its getter keeps the default that `*value` already holds. If a value is
// wrong, the getter records an error. Finish returns all errors in file order as one, so that a
// reader needs no error handling of its own:
//
//   KILN_ASSIGN_OR_RETURN(YamlFile file, YamlFile::Parse(text, source));
//   YamlMap root = file.root();
//   Config config;
//   root.Require({"name"});
//   root.String("name", &config.name);
//   root.Int("array_rows", &config.array_rows, 1, 256);
//   root.Parsed("input_format", &config.input_format, FindFormat);
//   if (root.Has("array_rows") && config.array_rows % 2 != 0) {
//     root.Fail("array_rows", "... is odd", "an even number");
//   }
//   KILN_RETURN_IF_ERROR(file.Finish());
//
// Example of an error:
//   net.yaml: line 7, key 'array_rows': 'many' is not an integer; a whole number from 1 to 256
// A second error follows in the same line: "...; also line 9, key 'clock': ...".
//
// Strict means: no duplicate keys, anchors, aliases, tags, second documents or empty values; quoted
// text is never a number; booleans are `true` and `false` only.
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

#include "kiln/support/excerpt.h"
#include "kiln/support/status.h"

namespace kiln {

namespace internal {
enum class MistakeKind;
struct YamlNode;
struct YamlState;
}  // namespace internal

// A mapping inside a file. Copies share the errors of their file, which stay valid as long as any
// copy exists. Getters on an absent mapping find no keys and keep all defaults.
class YamlMap {
 public:
  // Returns whether the mapping contains the key. Makes the key a known one, like every getter.
  bool Has(std::string_view key) const;
  // Returns all keys in file order. Does not make them known.
  std::vector<std::string> Keys() const;
  // Records an error for each key that is absent.
  void Require(std::initializer_list<std::string_view> keys) const;

  // Reads an integer in [low, high].
  template <std::integral T>
  void Int(std::string_view key, T* value, int64_t low, int64_t high) const {
    static_assert(!std::same_as<T, bool>, "use Bool");
    int64_t wide = 0;
    if (ReadInt(key, low, high, &wide)) *value = static_cast<T>(wide);
  }
  // Reads a finite number in [low, high].
  void Double(std::string_view key, double* value, double low, double high) const;
  // Reads `true` or `false`.
  void Bool(std::string_view key, bool* value) const;
  // Reads a text that is not empty.
  void String(std::string_view key, std::string* value) const;
  // Reads a text without control characters. Required for names that generated files repeat in
  // one-line comments: a line break would end the comment.
  void Name(std::string_view key, std::string* value) const;
  // Read a list of integers in [low, high], of finite numbers in [low, high], or of texts that are
  // not empty. A single value instead of a list is an error, as are more than
  // budgets::kYamlListItems items.
  void Ints(std::string_view key, std::vector<int64_t>* values, int64_t low, int64_t high) const;
  void Doubles(std::string_view key, std::vector<double>* values, double low, double high) const;
  void Strings(std::string_view key, std::vector<std::string>* values) const;
  // Reads a text and converts it with `find`, a function StatusOr<T>(std::string_view) such as the
  // Find... function of an enumeration or table. An error of `find` becomes the error of the key.
  template <typename T, typename Find>
  void Parsed(std::string_view key, T* value, Find find) const {
    std::string text;
    if (!ReadText(key, &text)) return;
    if (auto found = find(std::string_view(text)); found.ok()) {
      *value = std::move(found).value();
    } else {
      FailValue(key, MessageOf(found.status()), "");
    }
  }
  // Reads one of several names and stores the value that is paired with it.
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
    FailValue(key, "unknown value " + QuotedExcerpt(text), "one of: " + names);
  }

  // Returns the mapping that is the value of the key; an empty one if the key is absent.
  YamlMap Map(std::string_view key) const;
  // Returns the items of a list of mappings; empty if the key is absent.
  std::vector<YamlMap> Maps(std::string_view key) const;

  // Records an error about the value of a key, which is wrong with any values of other keys.
  void FailValue(std::string_view key, std::string_view fault, std::string_view remedy) const;
  // Records an error about a key by which the document is of another kind than its reader's. All
  // other errors are left out.
  void FailKind(std::string_view key, std::string_view fault, std::string_view remedy) const;
  // Records an error about a key of this mapping (or about the mapping itself if key is "") that
  // other keys or their defaults cause, with the line of the key. The error is left out if a key of
  // the mapping is wrong, unknown or missing, because it may follow from that.
  void Fail(std::string_view key, std::string_view fault, std::string_view remedy) const;
  // Records an error about the mapping that absent keys cause. As for Fail, an error about a key,
  // such as a misspelt one, takes precedence.
  void FailForAbsentKeys(std::string_view fault, std::string_view remedy) const;
  // Returns the line where the mapping begins; for the value of a key, the line of the key.
  int line() const;

 private:
  friend class YamlFile;
  YamlMap(std::shared_ptr<internal::YamlState> state, const internal::YamlNode* node,
          std::string path)
      : state_(std::move(state)), node_(node), path_(std::move(path)) {}
  // Returns the value of a key, or nullptr if it is absent. Makes the key a known one.
  const internal::YamlNode* Find(std::string_view key) const;
  // Read an integer or a non-empty text. Return false and keep `*value` if the key is absent or
  // wrong.
  bool ReadInt(std::string_view key, int64_t low, int64_t high, int64_t* value) const;
  bool ReadText(std::string_view key, std::string* text) const;
  // Records an error. `absent` sorts it after the errors about keys that are present.
  void Note(internal::MistakeKind kind, std::string_view key, std::string_view fault,
            std::string_view remedy, bool absent = false) const;
  // Returns the path of a key from the root: "weights.scale", "layers[2].name".
  std::string PathOf(std::string_view key) const;

  std::shared_ptr<internal::YamlState> state_;
  const internal::YamlNode* node_;  // nullptr for an absent mapping
  std::string path_;                // "weights", "layers[2]"; empty for the root
};

// Returns text as a quoted YAML value, so that a name such as 16 or true is read back as text.
std::string YamlText(std::string_view text);

// A parsed YAML document and the errors that were recorded while reading it.
class YamlFile {
 public:
  // Parses a document with a mapping as its root. `source` names the document in messages. Errors:
  // not YAML (with the line), not strict (see above), beyond a budget (support/budgets.def).
  static StatusOr<YamlFile> Parse(std::string_view text, std::string_view source);
  // Reads and parses a file; `source` is its path.
  static StatusOr<YamlFile> Load(const std::string& path);

  YamlMap root() const;
  // Returns the recorded errors and one for each unknown key, in file order, as one error: the
  // first, then "also" and the next. Those that do not fit into a line are counted. Returns OK if
  // there are none. Call it after all getters.
  Status Finish() const;

 private:
  explicit YamlFile(std::shared_ptr<internal::YamlState> state) : state_(std::move(state)) {}
  std::shared_ptr<internal::YamlState> state_;
};

}  // namespace kiln

#endif  // KILN_SUPPORT_YAML_H_
