// Keys of design points as a table: one row per key of a family's Config struct. The reader and the
// printer of design points, the parameters of the RTL's top module, the documents and `kiln list
// keys` are derived from the table.
//
//   const KeyTable<Config>& Keys() {
//     static const KeyTable<Config> table(
//         "toy", {{.name = "rows",
//                  .type = PowerOfTwo(&Config::rows, 1, 256),
//                  .unit = "rows",
//                  .required = true,
//                  .rtl = {{"ROWS"}},
//                  .help = "rows of the array"},
//                 {.name = "latency", .type = Integer(&Config::latency, 1, 64), ...}});
//     return table;
//   }
//   KeyReader<Config> reader(Keys(), file.root(), &config);
//   reader.ReadRest();
//
// Code of the family checks conditions between keys: it reads the keys up to a point, checks them
// and continues.
#ifndef KILN_HARDWARE_KEY_TABLE_H_
#define KILN_HARDWARE_KEY_TABLE_H_

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/rtl_format.h"
#include "kiln/numerics/format.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/yaml.h"

namespace kiln::hardware {

// A parameter of an RTL module: its name and its value as a SystemVerilog expression.
struct RtlParameter {
  std::string name, value;
  friend bool operator==(const RtlParameter&, const RtlParameter&) = default;
};

// A row of a table as users see it.
struct KeyDescription {
  std::string name;
  std::string type;        // "integer", "power of two", "boolean", ...
  std::string unit;        // empty if there is none
  std::string values;      // "1 to 256; a divisor of `array_rows`"
  std::string by_default;  // the value of an absent key; "required": the key has no default
  std::string original;    // the key of another project's configuration; empty if there is none
  std::vector<std::string> rtl_parameters;
  std::string help;
};

// A family's keys, for `kiln list keys` and the documents.
struct FamilyKeys {
  std::string family;
  std::string introduction;  // a paragraph of Markdown about this family
  std::vector<KeyDescription> keys;
};

// Returns the text of docs/FAMILY-design-points.md: how to write design points, the family's
// introduction, and a list with one item per key.
std::string MarkdownPage(const FamilyKeys& family);

// The type of a key: functions that read its values, print them and pass them to the RTL. The
// functions below construct the common types; a family may construct its own.
template <typename Config>
struct KeyType {
  std::string name;
  std::string values;
  // Reads `key` of `map` into the config and records a wrong value in the map. The config keeps its
  // value if the key is absent or its text cannot be stored. Returns false if the stored value
  // breaks the type's rule, so that checks between keys must not use it.
  std::function<bool(const YamlMap& map, std::string_view key, Config* config)> read;
  // Returns the value as YAML. A text that begins with a line break is printed below the key; an
  // empty text leaves the key out.
  std::function<std::string(const Config& config)> print;
  // Returns the value as SystemVerilog. Null if the type has no such form.
  std::function<std::string(const Config& config)> rtl;
  // For integers: the limits in documents, and a function that stores a number within them.
  int64_t low = 0, high = 0;
  std::function<void(int64_t value, Config* config)> store = nullptr;
};

// A limit of a key's values: a number, or a function of keys that are read earlier.
template <typename Config>
class Limit {
 public:
  Limit(int64_t number) : number_(number) {}
  // `number` is the limit in documents: that of the most permissive design point.
  Limit(int64_t number, std::function<int64_t(const Config&)> of)
      : number_(number), of_(std::move(of)) {}
  int64_t number() const { return number_; }
  int64_t Of(const Config& config) const { return of_ ? of_(config) : number_; }

 private:
  int64_t number_;
  std::function<int64_t(const Config&)> of_;
};

// Reads an integer from `low` to `high`. A number that only other keys forbid is an error that
// errors of those keys hide.
template <typename Config, std::integral T>
void ReadWithin(const YamlMap& map, std::string_view key, const Limit<Config>& low,
                const Limit<Config>& high, T Config::* member, Config* c) {
  T value = c->*member;
  map.Int(key, &value, low.number(), high.number());
  if (!map.Has(key)) return;
  if (value < low.Of(*c) || value > high.Of(*c)) {
    return map.Fail(key, fmt::format("{} is out of range", value),
                    fmt::format("a whole number from {} to {}", low.Of(*c), high.Of(*c)));
  }
  c->*member = value;
}

// Returns the type of an integer from `low` to `high`.
template <typename Config, std::integral T>
KeyType<Config> Integer(T Config::* member, const std::type_identity_t<Limit<Config>>& low,
                        const std::type_identity_t<Limit<Config>>& high) {
  const auto print = [member](const Config& c) { return fmt::format("{}", c.*member); };
  return {.name = "integer",
          .values = fmt::format("{} to {}", low.number(), high.number()),
          .read =
              [=](const YamlMap& map, std::string_view key, Config* c) {
                ReadWithin(map, key, low, high, member, c);
                return true;
              },
          .print = print,
          .rtl = print,
          .low = low.number(),
          .high = high.number(),
          .store = [member](int64_t value, Config* c) { c->*member = static_cast<T>(value); }};
}

// Returns the type of a power of two from `low` to `high`. `remedy` is the end of the error message
// about another number; if it is empty, the message ends with "a power of two from LOW to HIGH".
template <typename Config, std::integral T>
KeyType<Config> PowerOfTwo(T Config::* member, const std::type_identity_t<Limit<Config>>& low,
                           const std::type_identity_t<Limit<Config>>& high,
                           const std::string& remedy = "") {
  KeyType<Config> type = Integer(member, low, high);
  type.name = "power of two";
  type.read = [=](const YamlMap& map, std::string_view key, Config* c) {
    ReadWithin(map, key, low, high, member, c);
    if (IsPowerOfTwo(c->*member)) return true;
    map.FailValue(key, fmt::format("{} is not a power of two", c->*member),
                  remedy.empty()
                      ? fmt::format("a power of two from {} to {}", low.Of(*c), high.Of(*c))
                      : remedy);
    return false;
  };
  return type;
}

// Returns the type of a finite number from `low` to `high`.
template <typename Config>
KeyType<Config> Real(double Config::* member, double low, double high) {
  return {.name = "number",
          .values = fmt::format("{} to {}", low, high),
          .read =
              [=](const YamlMap& map, std::string_view key, Config* c) {
                map.Double(key, &(c->*member), low, high);
                return true;
              },
          .print = [member](const Config& c) { return fmt::format("{}", c.*member); },
          .rtl = nullptr};
}

// Returns the type of a boolean: true or false.
template <typename Config>
KeyType<Config> Boolean(bool Config::* member) {
  return {.name = "boolean",
          .values = "true, false",
          .read =
              [member](const YamlMap& map, std::string_view key, Config* c) {
                map.Bool(key, &(c->*member));
                return true;
              },
          .print = [member](const Config& c) { return fmt::format("{}", c.*member); },
          .rtl = [member](const Config& c) { return c.*member ? "1'b1" : "1'b0"; }};
}

// Returns the type of a number format, given by its name.
template <typename Config>
KeyType<Config> NumberFormat(Format Config::* member) {
  return {.name = "format",
          .values = "a number format",
          .read =
              [member](const YamlMap& map, std::string_view key, Config* c) {
                map.Parsed(key, &(c->*member), FindFormat);
                return true;
              },
          .print = [member](const Config& c) { return (c.*member).name; },
          .rtl = [member](const Config& c) { return FormatDescriptor(c.*member); }};
}

// Returns the type of a choice between two names: `no` means false and `yes` means true.
template <typename Config>
KeyType<Config> Choice(bool Config::* member, std::string_view no, std::string_view yes) {
  return {.name = "choice",
          .values = fmt::format("{}, {}", no, yes),
          .read =
              [=](const YamlMap& map, std::string_view key, Config* c) {
                map.Choice(key, &(c->*member), {{no, false}, {yes, true}});
                return true;
              },
          .print = [=](const Config& c) { return std::string(c.*member ? yes : no); },
          .rtl = [member](const Config& c) { return c.*member ? "1'b1" : "1'b0"; }};
}

// Returns the type of one line of text.
template <typename Config>
KeyType<Config> Text(std::string Config::* member) {
  return {.name = "text",
          .values = "one line of text",
          .read =
              [member](const YamlMap& map, std::string_view key, Config* c) {
                map.Name(key, &(c->*member));
                return true;
              },
          .print = [member](const Config& c) { return YamlText(c.*member); },
          .rtl = nullptr};
}

// Returns the type of a list of numbers from 0 to `count` - 1, stored as a set: bit i for number i.
// An absent key leaves the numbers below `count` that are in the set. `count` must be 1 to 31.
// `noun` names an element in messages.
template <typename Config>
KeyType<Config> NumberSet(uint32_t Config::* member, int Config::* count, const std::string& noun) {
  const auto present = [=](const Config& c) { return c.*member & ((uint32_t{1} << c.*count) - 1); };
  return {.name = "list of " + noun + "s",
          .values = "numbers from 0",
          .read =
              [=](const YamlMap& map, std::string_view key, Config* c) {
                if (!map.Has(key)) {
                  c->*member = present(*c);
                  return true;
                }
                std::vector<int64_t> numbers;
                map.Ints(key, &numbers, 0, c->*count - 1);
                c->*member = 0;
                for (const int64_t number : numbers) {
                  if (c->*member >> number & 1) {
                    map.FailValue(key, fmt::format("{} {} occurs twice", noun, number),
                                  fmt::format("each {} once", noun));
                  }
                  c->*member |= uint32_t{1} << number;
                }
                return true;
              },
          .print =
              [=](const Config& c) {
                return fmt::format("[{}]", fmt::join(SetBits(present(c)), ", "));
              },
          .rtl = [=](const Config& c) { return fmt::format("{}'b{:b}", c.*count, present(c)); }};
}

// An RTL parameter that a key determines.
template <typename Config>
struct KeyParameter {
  std::string_view name;
  std::function<std::string(const Config& config)> value = nullptr;  // null for the type's `rtl`
};

// A row of the table.
template <typename Config>
struct Key {
  std::string_view name;
  KeyType<Config> type;
  std::string_view unit = "";
  std::string_view condition = "";   // follows the type's values in documents
  std::string_view by_default = "";  // in documents; empty for the value in a default Config
  bool required = false;             // the key has no default
  bool shapes_other_rows = false;    // RTL parameters of other rows follow from the key
  std::string_view original = "";    // the key of another project's configuration
  // Has no default value, because g++ 12 fails with an internal error at one.
  std::vector<KeyParameter<Config>> rtl;
  std::string_view help;
};

// The table of a family's keys.
template <typename Config>
class KeyTable {
 public:
  // Rows are in the order of printed design points. The key `family`, whose value is `family`, is
  // read and printed before them.
  KeyTable(std::string_view family, std::vector<Key<Config>> keys)
      : family_(family), keys_(std::move(keys)) {}

  const std::string& family() const { return family_; }
  const std::vector<Key<Config>>& keys() const { return keys_; }

  // Returns the row number of a key, which must be in the table.
  size_t Find(std::string_view name) const {
    const auto at = std::ranges::find(keys_, name, &Key<Config>::name);
    KILN_CHECK(at != keys_.end());
    return static_cast<size_t>(at - keys_.begin());
  }

  // Returns YAML that is read as the same design point.
  std::string Print(const Config& config) const {
    std::string out = fmt::format("family: {}\n", family_);
    for (const Key<Config>& key : keys_) {
      const std::string value = key.type.print(config);
      if (value.empty()) continue;
      out += fmt::format("{}:{}{}\n", key.name, value.starts_with('\n') ? "" : " ", value);
    }
    return out;
  }

  // Returns the parameters of the RTL, in the order of the rows.
  std::vector<RtlParameter> RtlParameters(const Config& config) const {
    std::vector<RtlParameter> parameters;
    for (const Key<Config>& key : keys_) {
      for (const KeyParameter<Config>& p : key.rtl) {
        parameters.push_back(
            {std::string(p.name), p.value ? p.value(config) : key.type.rtl(config)});
      }
    }
    return parameters;
  }

  // Returns the keys that determine parameters of the RTL with their values, without spaces:
  // "columns=4,reach=2". Two design points of a family with the same text have the same machine.
  // Keys without a parameter of their own are left out where they have their default.
  std::string HardwareKeys(const Config& config) const {
    const Config defaults = {};
    std::vector<std::string> pairs;
    for (const Key<Config>& key : keys_) {
      std::string value = key.type.print(config);
      const bool listed =
          !key.rtl.empty() || (key.shapes_other_rows && value != key.type.print(defaults));
      if (!listed) continue;
      std::erase_if(value, [](char c) { return c == ' ' || c == '\n'; });
      pairs.push_back(fmt::format("{}={}", key.name, value));
    }
    return fmt::format("{}", fmt::join(pairs, ","));
  }

  // Returns the rows as users see them, with the key `family` first.
  std::vector<KeyDescription> Describe() const {
    std::vector<KeyDescription> rows = {{.name = "family",
                                         .type = "text",
                                         .unit = "",
                                         .values = family_,
                                         .by_default = "required",
                                         .original = "",
                                         .rtl_parameters = {},
                                         .help = "the family of the design point"}};
    for (const Key<Config>& key : keys_) {
      KeyDescription row{.name = std::string(key.name),
                         .type = key.type.name,
                         .unit = std::string(key.unit),
                         .values = key.type.values,
                         .by_default = std::string(key.by_default),
                         .original = std::string(key.original),
                         .rtl_parameters = {},
                         .help = std::string(key.help)};
      if (!key.condition.empty()) row.values += fmt::format("; {}", key.condition);
      if (row.by_default.empty())
        row.by_default = key.required ? "required" : key.type.print(Config());
      for (const KeyParameter<Config>& p : key.rtl) row.rtl_parameters.emplace_back(p.name);
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  std::string family_;
  std::vector<Key<Config>> keys_;
};

// Reads a design point key by key, each key once. The order decides which keys a limit or a default
// may depend on, and in which order a message lists the known keys.
template <typename Config>
class KeyReader {
 public:
  // Records errors for required keys that are absent and for a `family` that is not the table's.
  // The table and the config must outlive the reader.
  KeyReader(const KeyTable<Config>& table, const YamlMap& map, Config* config)
      : table_(table), map_(map), config_(config), read_(table.keys().size(), false) {
    map.Require({"family"});
    for (const Key<Config>& key : table.keys()) {
      if (key.required) map.Require({key.name});
    }
    std::string family = table.family();
    map.String("family", &family);
    if (family != table.family()) {
      map.FailKind("family", fmt::format("'{}' is not {}", family, table.family()),
                   "family: " + table.family());
    }
  }

  // Read one key, all keys up to `name` (inclusive) that have not been read, and all keys that have
  // not been read.
  void Read(std::string_view name) { ReadRow(table_.Find(name)); }
  void ReadTo(std::string_view name) { ReadRows(table_.Find(name) + 1); }
  void ReadRest() { ReadRows(read_.size()); }

  // Whether every stored value obeys its type's rule.
  bool values_fit() const { return values_fit_; }

 private:
  void ReadRows(size_t end) {
    for (size_t row = 0; row < end; ++row) {
      if (!read_[row]) ReadRow(row);
    }
  }
  void ReadRow(size_t row) {
    KILN_CHECK(!read_[row]);
    read_[row] = true;
    const Key<Config>& key = table_.keys()[row];
    values_fit_ = key.type.read(map_, key.name, config_) && values_fit_;
  }

  const KeyTable<Config>& table_;
  YamlMap map_;
  Config* config_;
  std::vector<bool> read_;
  bool values_fit_ = true;
};

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_KEY_TABLE_H_
