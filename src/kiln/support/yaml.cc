// Builds a tree with line numbers from yaml-cpp's parser events and implements the getters over it.
//
// The tree is built here because yaml-cpp's own tree loses the quotes and accepts duplicate keys.
// Getters record the keys that they look up; Finish reports every other key as unknown.

#include "kiln/support/yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "kiln/support/budgets.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"
#include "kiln/support/nearest_name.h"
#include "kiln/support/stable_sort.h"

namespace kiln {
namespace internal {

// A node of the parsed document: a scalar, an empty value, a list or a mapping.
struct YamlNode {
  enum class Kind { kScalar, kEmpty, kList, kMap };
  Kind kind = Kind::kEmpty;
  int line = 1;                   // of the value; for the value of a key, the line of the key
  std::string text;               // kScalar
  bool quoted = false;            // kScalar
  std::vector<std::string> keys;  // kMap: in file order
  std::vector<int> key_lines;     // kMap: one per key
  std::vector<std::unique_ptr<YamlNode>> children;  // kList: the items; kMap: one value per key
  std::unordered_map<std::string, size_t> index;    // kMap: position of each key in `keys`
  // The keys that getters looked up, in order of the first lookup, and the same keys as a set.
  mutable std::vector<std::string> asked;
  mutable std::unordered_set<std::string> known;
};

// What kind of mistake a message is about, which decides whether another one hides it.
enum class MistakeKind {
  kKind,     // the document is of another kind, so that its other mistakes mean nothing
  kValue,    // the value of one key is wrong
  kUnknown,  // a key is unknown
  kMissing,  // a required key is absent
  kRule,     // the values of several keys, or defaults, do not go together
};

// A mistake in a document.
struct Mistake {
  MistakeKind kind = MistakeKind::kValue;
  int rank = 0;     // sort key: the line; for absent keys the maximum
  std::string map;  // the path of the mapping that contains the key
  std::string key;  // empty for a mistake about the mapping itself
  std::string place, fault, remedy;
};

// The document and its mistakes; shared by a YamlFile and all of its YamlMaps.
struct YamlState {
  std::string source;  // the name of the document in messages
  std::unique_ptr<YamlNode> root;
  std::vector<Mistake> mistakes;  // in order of recording
  int64_t more = 0;               // mistakes that were only counted

  // Records a mistake. Only counts a mistake beyond kMostMistakes.
  void Note(Mistake mistake) {
    if (std::ssize(mistakes) < kMostMistakes) {
      mistakes.push_back(std::move(mistake));
    } else {
      ++more;
    }
  }
  // More than a message shows, and more than a design point has keys.
  static constexpr int64_t kMostMistakes = 256;
};

// Returns the path of a key of the mapping at `map`: "weights.scale".
std::string Joined(std::string_view map, std::string_view key) {
  if (key.empty()) return std::string(map);
  return map.empty() ? std::string(key) : fmt::format("{}.{}", map, key);
}

}  // namespace internal

namespace {

using internal::Mistake;
using internal::MistakeKind;
using internal::YamlNode;
using Kind = YamlNode::Kind;

// An error thrown through yaml-cpp's parser, which has no other way to stop; caught in
// YamlFile::Parse.
struct Refusal {
  int line;
  std::string fault;
  std::string remedy;
};

// Returns the line of a mark, counted from 1. yaml-cpp counts from 0 and uses -1 for "unknown".
int LineOf(const YAML::Mark& mark) { return std::max(mark.line, 0) + 1; }

// Builds the tree from parser events. Unlike yaml-cpp's own tree it keeps line numbers and quotes,
// and rejects duplicate keys, anchors, tags and documents beyond the budgets.
class TreeBuilder final : public YAML::EventHandler {
 public:
  // Returns the finished tree; null for an empty stream.
  std::unique_ptr<YamlNode> TakeRoot() { return std::move(root_); }

  // Events of yaml-cpp's parser, in document order.
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Leaf(mark, anchor, Kind::kEmpty);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { RefuseAnchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseTag(mark, tag);
    // Inside a mapping scalars alternate: a key, then its value.
    if (InMap() && !key_) {
      if (anchor != 0) RefuseAnchor(mark);
      Count(mark);
      if (std::ssize(value) > budgets::kYamlKeyBytes) {
        throw Refusal{LineOf(mark), fmt::format("a key of {} bytes is too long", value.size()),
                      fmt::format("at most {}", budgets::kYamlKeyBytes)};
      }
      const YamlNode& map = *stack_.back();
      if (const auto first = map.index.find(value); first != map.index.end()) {
        const int line = map.key_lines[first->second];
        throw Refusal{LineOf(mark),
                      fmt::format("key '{}' occurs twice, first in line {}", value, line),
                      "keep one"};
      }
      key_ = value;
      key_line_ = LineOf(mark);
      return;
    }
    YamlNode* node = Leaf(mark, anchor, Kind::kScalar);
    node->text = value;
    node->quoted = tag == "!";  // yaml-cpp reports quoted scalars with the non-specific tag
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  // Returns whether the innermost open collection is a mapping.
  bool InMap() const { return !stack_.empty() && stack_.back()->kind == Kind::kMap; }

  [[noreturn]] static void RefuseAnchor(const YAML::Mark& mark) {
    throw Refusal{LineOf(mark), "anchors and aliases are not supported", "write the value out"};
  }
  static void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;  // "?" plain, "!" quoted
    throw Refusal{LineOf(mark), fmt::format("tag '{}' is not supported", tag), "leave it out"};
  }

  // Appends a node to the innermost open collection, or makes it the root. In a mapping it becomes
  // the value of the pending key.
  YamlNode* Add(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    if (anchor != 0) RefuseAnchor(mark);
    if (!stack_.empty() && !InMap()) Count(mark);  // the value of a key is counted with the key
    auto node = std::make_unique<YamlNode>();
    node->kind = kind;
    node->line = LineOf(mark);
    YamlNode* raw = node.get();
    if (stack_.empty()) {
      root_ = std::move(node);
      return raw;
    }
    if (InMap()) {
      if (!key_)
        throw Refusal{LineOf(mark), "a key is not a single name", "one name before the colon"};
      node->line = key_line_;
      stack_.back()->index.emplace(*key_, stack_.back()->keys.size());
      stack_.back()->keys.push_back(std::move(*key_));
      stack_.back()->key_lines.push_back(key_line_);
      key_.reset();
    }
    stack_.back()->children.push_back(std::move(node));
    return raw;
  }
  // Adds a node without children.
  YamlNode* Leaf(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    return Add(mark, anchor, kind);
  }
  // Adds a list or mapping and makes it the innermost open collection.
  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    RefuseTag(mark, tag);
    if (std::ssize(stack_) >= budgets::kYamlDepth) {
      throw Refusal{LineOf(mark), "nested too deeply",
                    fmt::format("at most {} levels", budgets::kYamlDepth)};
    }
    stack_.push_back(Add(mark, anchor, kind));
  }
  void Close() { stack_.pop_back(); }
  // Counts a key or list item against the budget kYamlValues.
  void Count(const YAML::Mark& mark) {
    if (++values_ <= budgets::kYamlValues) return;
    throw Refusal{LineOf(mark), "too many keys and list items",
                  fmt::format("at most {}", budgets::kYamlValues)};
  }

  std::unique_ptr<YamlNode> root_;
  std::vector<YamlNode*> stack_;    // the open collections, outermost first
  std::optional<std::string> key_;  // the pending key of the innermost mapping
  int key_line_ = 1;                // of key_
  int64_t values_ = 0;              // keys and list items so far
};

// Returns the kind as it appears in messages.
std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kScalar:
      return "a single value";
    case Kind::kEmpty:
      return "empty";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a mapping";
  }
  return "?";
}

// Returns the whole text as a number of type T, or nullopt. Allows one leading '+', which
// std::from_chars does not accept.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the remedy for a key that is probably the known key `name`.
std::string NearKey(std::string_view name) { return fmt::format("did you mean '{}'?", name); }

// Returns the remedy for an unknown key: the known key with the smallest edit distance, in lower
// case, if it is below 3, otherwise the list of all known keys.
std::string RemedyForUnknown(const std::string& key, const std::vector<std::string>& known) {
  if (known.empty()) return "leave it out";
  std::string all;
  const std::string* near = nullptr;
  size_t least = std::min<size_t>(3, key.size());  // a larger distance is not a typing error
  for (const std::string& name : known) {
    all += (all.empty() ? "" : ", ") + name;
    if (key.size() > 64) continue;
    const size_t distance = EditDistance(absl::AsciiStrToLower(key), absl::AsciiStrToLower(name));
    if (distance < least) {
      least = distance;
      near = &name;
    }
  }
  return near != nullptr ? NearKey(*near) : "one of: " + all;
}

// Records a mistake for every key below `node` that no getter looked up. `path` is the path of
// `node`.
void NoteUnknownKeys(internal::YamlState& state, const YamlNode& node, const std::string& path) {
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (node.kind != Kind::kMap) {
      NoteUnknownKeys(state, *node.children[i], fmt::format("{}[{}]", path, i));
      continue;
    }
    const std::string& key = node.keys[i];
    const std::string inner = internal::Joined(path, key);
    if (node.known.contains(key)) {
      NoteUnknownKeys(state, *node.children[i], inner);
    } else if (std::ssize(state.mistakes) >= internal::YamlState::kMostMistakes) {
      ++state.more;
    } else {
      state.Note({.kind = MistakeKind::kUnknown,
                  .rank = node.key_lines[i],
                  .map = path,
                  .key = key,
                  .place = fmt::format("line {}, key '{}'", node.key_lines[i], inner),
                  .fault = "unknown key",
                  .remedy = RemedyForUnknown(key, node.asked)});
    }
  }
}

// Returns whether the mapping at path `inner` is the one at path `outer` or below it.
bool IsWithin(std::string_view inner, std::string_view outer) {
  if (outer.empty() || inner == outer) return true;
  return inner.starts_with(outer) && (inner[outer.size()] == '.' || inner[outer.size()] == '[');
}

// Returns whether `mistake` may be a consequence of another one in its mapping: a rule that a
// default breaks because a key with another value is misspelt or wrong, a required key that is
// present but misspelt, or a second fault of the same key.
bool IsHidden(const Mistake& mistake, size_t position, const std::vector<Mistake>& all) {
  for (size_t i = 0; i < all.size(); ++i) {
    const Mistake& other = all[i];
    if (i == position) continue;
    if (mistake.kind == MistakeKind::kRule && other.kind != MistakeKind::kRule &&
        IsWithin(other.map, mistake.map)) {
      return true;
    }
    if (other.map != mistake.map) continue;
    if (mistake.kind == MistakeKind::kMissing && other.kind == MistakeKind::kUnknown &&
        other.remedy == NearKey(mistake.key)) {
      return true;
    }
    // A rule is left out before a value, so it does not hide one.
    const bool hides = other.kind != MistakeKind::kRule || mistake.kind == MistakeKind::kRule;
    if (hides && i < position && !mistake.key.empty() && other.key == mistake.key) return true;
  }
  return false;
}

// Returns the mistakes that a message names, in file order; of two in the same line, the one
// recorded first comes first. Absent keys come last.
std::vector<Mistake> ShownMistakes(const std::vector<Mistake>& all) {
  const auto kind = std::ranges::find(all, MistakeKind::kKind, &Mistake::kind);
  if (kind != all.end()) return {*kind};
  std::vector<Mistake> shown;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!IsHidden(all[i], i, all)) shown.push_back(all[i]);
  }
  StableSort(&shown, [](const Mistake& a, const Mistake& b) { return a.rank < b.rank; });
  return shown;
}

// The bytes of a message after which further mistakes are only counted.
constexpr size_t kShownBytes = 1200;

}  // namespace

std::string YamlMap::PathOf(std::string_view key) const { return internal::Joined(path_, key); }

const YamlNode* YamlMap::Find(std::string_view key) const {
  if (node_ == nullptr) return nullptr;
  std::string name(key);
  const auto it = node_->index.find(name);
  const YamlNode* found = it == node_->index.end() ? nullptr : node_->children[it->second].get();
  if (node_->known.insert(name).second) node_->asked.push_back(std::move(name));
  return found;
}

bool YamlMap::Has(std::string_view key) const { return Find(key) != nullptr; }

std::vector<std::string> YamlMap::Keys() const {
  return node_ == nullptr ? std::vector<std::string>{} : node_->keys;
}

void YamlMap::Require(std::initializer_list<std::string_view> keys) const {
  for (std::string_view key : keys) {
    if (Has(key)) continue;
    Note(MistakeKind::kMissing, key, fmt::format("key '{}' is missing", key),
         "add it, it has no default", /*absent=*/true);
  }
}

int YamlMap::line() const { return node_ == nullptr ? 1 : node_->line; }

void YamlMap::Note(MistakeKind kind, std::string_view key, std::string_view fault,
                   std::string_view remedy, bool absent) const {
  const YamlNode* node = key.empty() ? nullptr : Find(key);
  const int at = node == nullptr ? line() : node->line;
  const std::string path = PathOf(kind == MistakeKind::kMissing ? "" : key);
  const bool by_default = kind != MistakeKind::kMissing && !key.empty() && node == nullptr;
  state_->Note({.kind = kind,
                // An absent key is often a misspelt key in a later line.
                .rank = absent ? std::numeric_limits<int>::max() : at,
                .map = path_,
                .key = std::string(key),
                .place = path.empty() ? fmt::format("line {}", at)
                         : by_default ? fmt::format("key '{}', which has its default", path)
                                      : fmt::format("line {}, key '{}'", at, path),
                .fault = std::string(fault),
                .remedy = std::string(remedy)});
}

void YamlMap::FailValue(std::string_view key, std::string_view fault,
                        std::string_view remedy) const {
  Note(MistakeKind::kValue, key, fault, remedy);
}

void YamlMap::FailKind(std::string_view key, std::string_view fault,
                       std::string_view remedy) const {
  Note(MistakeKind::kKind, key, fault, remedy);
}

void YamlMap::Fail(std::string_view key, std::string_view fault, std::string_view remedy) const {
  Note(MistakeKind::kRule, key, fault, remedy);
}

void YamlMap::FailForAbsentKeys(std::string_view fault, std::string_view remedy) const {
  Note(MistakeKind::kRule, "", fault, remedy, /*absent=*/true);
}

bool YamlMap::ReadText(std::string_view key, std::string* text) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return false;
  if (node->kind != Kind::kScalar || node->text.empty()) {
    FailValue(
        key,
        fmt::format("is {}", KindName(node->kind == Kind::kScalar ? Kind::kEmpty : node->kind)),
        "write a single value");
    return false;
  }
  *text = node->text;
  return true;
}

bool YamlMap::ReadInt(std::string_view key, int64_t low, int64_t high, int64_t* value) const {
  std::string text;
  if (!ReadText(key, &text)) return false;
  const std::string remedy = fmt::format("a whole number from {} to {}", low, high);
  const std::optional<int64_t> number = ParseNumber<int64_t>(text);
  if (!number || Find(key)->quoted) {
    FailValue(key, fmt::format("'{}' is not an integer", text), remedy);
    return false;
  }
  if (*number < low || *number > high) {
    FailValue(key, fmt::format("{} is out of range", text), remedy);
    return false;
  }
  *value = *number;
  return true;
}

void YamlMap::Double(std::string_view key, double* value, double low, double high) const {
  std::string text;
  if (!ReadText(key, &text)) return;
  const std::string remedy = fmt::format("a number from {} to {}", low, high);
  const std::optional<double> number = ParseNumber<double>(text);
  if (!number || Find(key)->quoted || !std::isfinite(*number)) {
    FailValue(key, fmt::format("'{}' is not a number", text), remedy);
  } else if (*number < low || *number > high) {
    FailValue(key, fmt::format("{} is out of range", text), remedy);
  } else {
    *value = *number;
  }
}

void YamlMap::Bool(std::string_view key, bool* value) const {
  std::string text;
  if (!ReadText(key, &text)) return;
  if (Find(key)->quoted || (text != "true" && text != "false")) {
    FailValue(key, fmt::format("'{}' is not a boolean", text), "true or false");
    return;
  }
  *value = text == "true";
}

void YamlMap::String(std::string_view key, std::string* value) const { ReadText(key, value); }

void YamlMap::Name(std::string_view key, std::string* value) const {
  std::string text;
  if (!ReadText(key, &text)) return;
  const auto control =
      std::ranges::find_if(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (control != text.end()) {
    return FailValue(key,
                     fmt::format("character {} is a control character, {:#04x}",
                                 control - text.begin() + 1, *control),
                     "a name of one line");
  }
  *value = std::move(text);
}

namespace {

// Records an error about `key` and returns true if the list `node` exceeds the budget
// kYamlListItems.
bool HasTooMany(const YamlMap& map, std::string_view key, const YamlNode& node) {
  if (std::ssize(node.children) <= budgets::kYamlListItems) return false;
  map.FailValue(key, fmt::format("has {} items", node.children.size()),
                fmt::format("at most {}", budgets::kYamlListItems));
  return true;
}

// Reads a list of numbers in [low, high] into `values`. Records an error about `key` and leaves
// `values` unchanged if an item is not such a number.
template <typename T>
void ReadNumbers(const YamlMap& map, std::string_view key, const YamlNode* node,
                 std::string_view remedy, T low, T high, std::vector<T>* values) {
  if (node->kind != Kind::kList) return map.FailValue(key, "is not a list", remedy);
  if (HasTooMany(map, key, *node)) return;
  std::vector<T> found;
  for (const auto& child : node->children) {
    const std::optional<T> number =
        child->kind == Kind::kScalar && !child->quoted ? ParseNumber<T>(child->text) : std::nullopt;
    if (!number || !(*number >= low && *number <= high)) {
      return map.FailValue(key, fmt::format("item {} is not one it can hold", found.size()),
                           remedy);
    }
    found.push_back(*number);
  }
  *values = std::move(found);
}

}  // namespace

void YamlMap::Ints(std::string_view key, std::vector<int64_t>* values, int64_t low,
                   int64_t high) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return;
  ReadNumbers(*this, key, node, fmt::format("a list of whole numbers from {} to {}", low, high),
              low, high, values);
}

void YamlMap::Doubles(std::string_view key, std::vector<double>* values, double low,
                      double high) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return;
  ReadNumbers(*this, key, node, fmt::format("a list of numbers from {} to {}", low, high), low,
              high, values);
}

void YamlMap::Strings(std::string_view key, std::vector<std::string>* values) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return;
  if (node->kind != Kind::kList) return FailValue(key, "is not a list", "a list of names");
  if (HasTooMany(*this, key, *node)) return;
  std::vector<std::string> found;
  for (const auto& child : node->children) {
    if (child->kind != Kind::kScalar || child->text.empty()) {
      return FailValue(key, fmt::format("item {} is not a single value", found.size()),
                       "a list of names");
    }
    found.push_back(child->text);
  }
  *values = std::move(found);
}

YamlMap YamlMap::Map(std::string_view key) const {
  const YamlNode* node = Find(key);
  if (node != nullptr && node->kind != Kind::kMap) {
    FailValue(key, fmt::format("is {}", KindName(node->kind)), "a mapping of keys to values");
    node = nullptr;
  }
  return YamlMap(state_, node, PathOf(key));
}

std::vector<YamlMap> YamlMap::Maps(std::string_view key) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return {};
  if (node->kind != Kind::kList) {
    FailValue(key, fmt::format("is {}", KindName(node->kind)), "a list of mappings");
    return {};
  }
  if (HasTooMany(*this, key, *node)) return {};
  std::vector<YamlMap> maps;
  for (const auto& child : node->children) {
    const std::string path = fmt::format("{}[{}]", PathOf(key), maps.size());
    if (child->kind != Kind::kMap) {
      YamlMap(state_, child.get(), path)
          .FailValue("", fmt::format("is {}", KindName(child->kind)),
                     "a mapping of keys to values");
      return {};
    }
    maps.push_back(YamlMap(state_, child.get(), path));
  }
  return maps;
}

StatusOr<YamlFile> YamlFile::Parse(std::string_view text, std::string_view source) {
  if (static_cast<int64_t>(text.size()) > budgets::kYamlBytes) {
    return ErrorAt(source, "", fmt::format("{} bytes are too many for settings", text.size()),
                   fmt::format("at most {}", budgets::kYamlBytes));
  }
  auto state = std::make_shared<internal::YamlState>();
  state->source = std::string(source);
  const auto at = [&](int line, std::string_view fault, std::string_view remedy) {
    return ErrorAt(source, fmt::format("line {}", line), fault, remedy);
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (parser.HandleNextDocument(builder)) state->root = builder.TakeRoot();
    // Only the first document is kept. The second builder serves to detect another document.
    TreeBuilder second;
    if (state->root != nullptr && parser.HandleNextDocument(second)) {
      return ErrorAt(source, "", "holds more than one YAML document", "one document a file");
    }
  } catch (const Refusal& refusal) {
    return at(refusal.line, refusal.fault, refusal.remedy);
  } catch (const YAML::Exception& error) {
    return at(LineOf(error.mark), "not YAML: " + error.msg, "mend the line or the one before it");
  }
  if (state->root == nullptr || state->root->kind == Kind::kEmpty) {
    return ErrorAt(source, "", "is empty", "a mapping of keys to values");
  }
  if (state->root->kind != Kind::kMap) {
    return at(state->root->line, fmt::format("the document is {}", KindName(state->root->kind)),
              "a mapping of keys to values");
  }
  return YamlFile(std::move(state));
}

StatusOr<YamlFile> YamlFile::Load(const std::string& path) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, budgets::kYamlBytes));
  return Parse(text, path);
}

YamlMap YamlFile::root() const { return YamlMap(state_, state_->root.get(), ""); }

Status YamlFile::Finish() const {
  // A second call must not record unknown keys again.
  internal::YamlState all;
  all.mistakes = state_->mistakes;
  all.more = state_->more;
  NoteUnknownKeys(all, *state_->root, "");
  const std::vector<Mistake> shown = ShownMistakes(all.mistakes);
  if (shown.empty()) return OkStatus();
  const Mistake& first = shown.front();
  std::string remedy = first.remedy;
  std::set<std::string_view> remedies = {first.remedy};  // not to list all keys twice
  size_t named = 1;
  for (; named < shown.size() && remedy.size() < kShownBytes; ++named) {
    const Mistake& next = shown[named];
    remedy += fmt::format("{}also {}: {}", remedy.empty() ? "" : "; ", next.place, next.fault);
    if (!next.remedy.empty() && remedies.insert(next.remedy).second) remedy += "; " + next.remedy;
  }
  const int64_t more = first.kind == MistakeKind::kKind ? 0 : all.more;
  if (const auto rest = static_cast<int64_t>(shown.size() - named) + more; rest > 0)
    remedy += fmt::format("; and {} more mistake{}", rest, rest == 1 ? "" : "s");
  return ErrorAt(state_->source, first.place, first.fault, remedy);
}

std::string YamlText(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text)
    quoted += letter == '\'' ? std::string("''") : std::string(1, letter);
  return quoted + "'";
}

}  // namespace kiln
