// Writes the documents' list and the C header of a register map.

#include "kiln/hardware/register_map.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/check.h"
#include "kiln/support/markdown.h"

namespace kiln::hardware {
namespace {

std::string AccessOf(const Register& r) {
  return r.readable && r.writable ? "rw" : r.readable ? "r" : "w";
}

std::string BitsOf(const RegisterField& field) {
  return field.high == field.low ? fmt::format("bit {}", field.low)
                                 : fmt::format("bits {}:{}", field.high, field.low);
}

// Returns "0x020, 0x024" or, where there are several, "0x100 + 8 i".
std::string AddressesOf(const Register& r) {
  std::vector<std::string> addresses;
  for (int word = 0; word < r.words; ++word) {
    addresses.push_back(fmt::format("0x{:03x}", r.address + 4 * static_cast<uint32_t>(word)));
    if (r.count > 1) addresses.back() += fmt::format(" + {} i", r.stride);
  }
  return fmt::format("{}", fmt::join(addresses, ", "));
}

uint32_t MaskOf(const RegisterField& field) {
  const uint64_t ones = (uint64_t{1} << (field.high - field.low + 1)) - 1;
  return static_cast<uint32_t>(ones << field.low);
}

// A definition of the header, with its value in the same column as the others.
std::string Define(const std::string& name, const std::string& value) {
  return fmt::format("#define {:<39} {}\n", name, value);
}
std::string Number(uint32_t value) { return fmt::format("0x{:x}u", value); }
std::string Address(const std::string& name, const std::string& prefix = "KILN") {
  return fmt::format("{}_REG_{}", prefix, name);
}

// Returns a comment of the header, in lines of at most 100 columns.
std::string Comment(const std::string& text) {
  // MarkdownItem begins with "- ". Its first word makes room for the longer beginning.
  std::string item = MarkdownItem("-" + text + " */");
  return item.replace(0, 3, "/* ");
}

// Returns the definitions of a register: its addresses and its fields, with what they mean.
std::string DefinitionsOf(const Register& r, const std::string& prefix) {
  std::string text =
      fmt::format("{} ({}){}{}", r.name, AccessOf(r), r.text.empty() ? "" : ": ", r.text);
  for (const RegisterField& field : r.fields)
    text += fmt::format(". {}: {}", field.name, field.text);
  for (const RegisterValue& value : r.values)
    text += fmt::format(". {} {}: {}", value.value, value.name, value.text);
  std::string out = '\n' + Comment(text + '.');
  out += Define(Address(r.name, prefix), fmt::format("0x{:03x}u", r.address));
  if (r.words == 2)
    out += Define(Address(r.name + "_HIGH", prefix), fmt::format("0x{:03x}u", r.address + 4));
  if (r.count > 1) {
    out += Define(fmt::format("{}_{}_COUNT", prefix, r.name), fmt::format("{}u", r.count));
    out += Define(fmt::format("{}_{}_STRIDE", prefix, r.name), fmt::format("{}u", r.stride));
  }
  for (const RegisterField& field : r.fields) {
    const std::string name = fmt::format("{}_{}_{}", prefix, r.name, field.name);
    out += Define(name, Number(MaskOf(field)));
    out += Define(name + "_SHIFT", fmt::format("{}u", field.low));
  }
  return out;
}

// Returns the definitions of a condition or a value that the driver uses: a register, mask, value.
std::string ControlOf(const std::string& name, const RegisterBits& bits) {
  return Define(name + "_ADDRESS", Address(bits.name)) + Define(name + "_MASK", Number(bits.mask)) +
         Define(name + "_VALUE", Number(bits.value));
}

// Returns the words in which a program is selected, by name.
std::vector<std::string> ProgramWords(const RegisterMap& map) {
  std::vector<std::string> words;
  for (const std::string& name : map.control.program) {
    words.push_back(name);
    if (FindRegister(map, name).words == 2) words.push_back(name + "_HIGH");
  }
  return words;
}

// Returns the definition of a list: NAME(ITEM) and a line for each of its items.
std::string ListOf(const std::string& name, const std::string& item,
                   const std::vector<std::string>& rows) {
  std::string out = fmt::format("#define {}({})", name, item);
  for (const std::string& row : rows) out += fmt::format(" \\\n  {}({})", item, row);
  return out + "\n";
}

// Returns what the driver needs: the words of a program, start and end, errors, counters.
std::string ControlDefinitions(const RegisterMap& map) {
  const ProgramControl& control = map.control;
  std::string out;
  const std::vector<std::string> words = ProgramWords(map);
  out += "\n/* The words that select a program, in the order in which they are written. */\n";
  out += Define("KILN_PROGRAM_WORDS", fmt::format("{}u", words.size()));
  std::vector<std::string> addresses;
  for (size_t i = 0; i < words.size(); ++i) {
    out += Define("KILN_WORD_" + words[i], fmt::format("{}u", i));
    addresses.push_back(Address(words[i]));
  }
  out += ListOf("KILN_PROGRAM_REGISTERS", "WORD", addresses);
  if (control.has_bus_addresses) {
    std::vector<std::string> numbers;
    for (const std::string& name : control.program) {
      if (FindRegister(map, name).words == 2) numbers.push_back("KILN_WORD_" + name);
    }
    out += Comment(
        "Of these, the lower words of addresses of the machine's buses: the driver adds the "
        "address at which the buses have the machine's memory.");
    out += ListOf("KILN_BUS_WORDS", "WORD", numbers);
  }

  out += "\n/* How the driver controls the machine: in the register, bits and their value. */\n";
  out += ControlOf("KILN_START", control.start) + ControlOf("KILN_BUSY", control.busy) +
         ControlOf("KILN_ENDED", control.ended);
  if (!control.stop.name.empty()) out += ControlOf("KILN_STOP", control.stop);
  out += Define("KILN_ERROR_ADDRESS", Address(control.error));
  out += Define("KILN_ERROR_PLACE_ADDRESS", Address(control.error_place));
  out += Define("KILN_CYCLES_ADDRESS", Address(control.cycles));
  out += Define("KILN_CYCLES_WORDS", fmt::format("{}u", FindRegister(map, control.cycles).words));

  out += "\n/* The errors with which the machine ends a program: ERROR(number, name, text). */\n";
  std::vector<std::string> errors, counters;
  for (const RegisterValue& value : FindRegister(map, control.error).values) {
    errors.push_back(
        fmt::format("{}u, \"{}\", \\\n        \"{}\"", value.value, value.name, value.text));
  }
  out += ListOf("KILN_ERRORS", "ERROR", errors);

  out += "\n/* The counters of the last program: COUNTER(name, address, words). */\n";
  out += Define("KILN_COUNTER_COUNT", fmt::format("{}u", map.counters.size()));
  for (const CounterRegister& c : map.counters)
    counters.push_back(fmt::format("\"{}\", 0x{:03x}u, {}u", c.name, c.address, c.words));
  out += ListOf("KILN_COUNTERS", "COUNTER", counters);
  return out;
}

}  // namespace

const Register& FindRegister(const RegisterMap& map, const std::string& name) {
  const auto at = std::ranges::find(map.registers, name, &Register::name);
  KILN_CHECK(at != map.registers.end());
  return *at;
}

std::vector<RegisterWord> WordsOf(const RegisterMap& map) {
  std::vector<RegisterWord> words;
  for (const Register& r : map.registers) {
    for (int i = 0; i < r.count; ++i) {
      for (int word = 0; word < r.words; ++word) {
        const uint32_t address =
            r.address + static_cast<uint32_t>(i) * r.stride + 4 * static_cast<uint32_t>(word);
        words.push_back({address,
                         r.name + (word == 1 ? "_HIGH" : "") +
                             (r.count > 1 ? fmt::format(" {}", i) : std::string()),
                         r.readable, r.writable});
      }
    }
  }
  for (const CounterRegister& c : map.counters) {
    for (int word = 0; word < c.words; ++word) {
      words.push_back({c.address + 4 * static_cast<uint32_t>(word),
                       c.name + (word == 1 ? " (high half)" : ""), true, false});
    }
  }
  std::ranges::sort(words, {}, &RegisterWord::address);
  return words;
}

std::string RegisterList(const RegisterMap& map) {
  std::string out;
  for (const Register& r : map.registers) {
    std::vector<std::string> parts;
    if (!r.text.empty()) parts.push_back(r.text);
    for (const RegisterField& field : r.fields)
      parts.push_back(fmt::format("{} {}: {}", BitsOf(field), field.name, field.text));
    std::vector<std::string> values;
    for (const RegisterValue& value : r.values)
      values.push_back(fmt::format("{} {}", value.value, value.name));
    if (!values.empty()) parts.push_back(fmt::format("{}", fmt::join(values, ", ")));
    out += MarkdownItem(fmt::format("**{} {}** ({}): {}.", AddressesOf(r), r.name, AccessOf(r),
                                    fmt::join(parts, "; ")));
  }
  return out;
}

std::string CounterList(const RegisterMap& map) {
  std::string out;
  for (const CounterRegister& c : map.counters)
    out += MarkdownItem(fmt::format("**0x{:03x}** {}: {}.", c.address, c.name, c.text));
  return out;
}

std::string RegisterHeader(const RegisterMap& map, const std::string& prefix) {
  std::string out = fmt::format(
      "/* The registers of {0} on its AXI4-Lite port, and its counters.\n"
      " * Emitted by Kiln, in whose sources {1} describes them, too. */\n"
      "#ifndef {2}_REGISTERS_H\n#define {2}_REGISTERS_H\n\n"
      "/* Byte addresses of the registers; masks of their fields and the fields' lowest bits. */\n",
      map.machine, map.page, prefix);
  for (const Register& r : map.registers) out += DefinitionsOf(r, prefix);
  out += "\n/* Bytes of addresses that the driver uses. */\n";
  out += Define(prefix + "_REGISTER_BYTES", Number(map.bytes));
  out += "\n/* Constant registers. */\n";
  out += Define(prefix + "_IDENTITY_VALUE", Number(map.identity));
  if (map.version != 0) out += Define(prefix + "_VERSION_VALUE", Number(map.version));

  if (!map.control.program.empty()) out += ControlDefinitions(map);
  return out + fmt::format("\n#endif /* {}_REGISTERS_H */\n", prefix);
}

}  // namespace kiln::hardware
