// A parser for the small part of Liberty that synthesis needs. It parses all groups and ignores
// most of them.

#include "kiln/hardware/liberty.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/support/budgets.h"

namespace kiln::hardware {
namespace {

// Splits text into tokens: names and numbers, strings without quotes, and the characters {}():;,
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  struct Token {
    char kind = 0;  // 'n' for names, numbers and strings; punctuation is itself; 0 at the end
    std::string_view text;
  };

  // Returns the next token.
  Token Next() {
    SkipBlanks();
    if (at_ >= text_.size()) return {};
    const size_t begin = at_;
    if (text_[at_] == '"') {
      const size_t end = std::min(text_.find('"', at_ + 1), text_.size());
      at_ = std::min(end + 1, text_.size());
      CountLines(begin, at_);
      return {'n', text_.substr(begin + 1, end - begin - 1)};
    }
    constexpr std::string_view kPunctuation = "{}():;,";
    if (kPunctuation.find(text_[at_]) != std::string_view::npos)
      return {text_[at_++], text_.substr(begin, 1)};
    at_ = std::min(text_.find_first_of("{}():;,\" \t\r\n\\", at_ + 1), text_.size());
    return {'n', text_.substr(begin, at_ - begin)};
  }
  int line() const { return line_; }

 private:
  // Skips blanks, line ends (with or without a preceding backslash) and comments.
  void SkipBlanks() {
    while (at_ < text_.size()) {
      const size_t begin = at_;
      if (text_.compare(at_, 2, "/*") == 0) {
        const size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else if (text_.compare(at_, 2, "//") == 0) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string_view(" \t\r\n\\").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
      CountLines(begin, at_);
    }
  }
  // Advances the line number over the text in [begin, end).
  void CountLines(size_t begin, size_t end) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                                         text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

// A pin of the cell that is being parsed.
struct Pin {
  std::string name, direction, function;
  double capacitance = 0;
  std::string gating;  // its purpose in an integrated clock gate: clock, enable, test or out
};

// The latch of the cell that is being parsed: its state, and the functions of its inputs.
struct Latch {
  std::string state, data, enable;
};

// Returns an area or a capacitance, or nullopt if the text is not a finite non-negative number.
std::optional<double> NumberOf(std::string_view text) {
  const std::string number(text);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || end != number.c_str() + number.size() || !std::isfinite(value) ||
      value < 0) {
    return std::nullopt;
  }
  return value;
}

// Returns a function without white space and parentheses.
std::string Bare(std::string function) {
  constexpr std::string_view kLeftOut = "() \t\r\n\\";
  std::erase_if(function, [&](char c) { return kLeftOut.find(c) != std::string_view::npos; });
  return function;
}

// Returns whether `function` is the complement of `input`: !A, (!A), A' or (A').
bool IsComplement(const std::string& function, const std::string& input) {
  const std::string bare = Bare(function);
  return bare == "!" + input || bare == input + "'";
}

// Returns whether `function` is x and y: A B, A&B or A*B.
bool IsConjunction(const std::string& function, const std::string& x, const std::string& y) {
  std::string bare = Bare(function);
  std::erase_if(bare, [](char c) { return c == '&' || c == '*'; });
  return bare == x + y || bare == y + x;
}

// Parses a library by recursive descent and collects its cells.
class LibertyParser {
 public:
  LibertyParser(std::string_view text, const std::string& file) : scanner_(text), file_(file) {}

  // Reads `library (name) { ... }` and checks that the library is usable.
  StatusOr<LibertyLibrary> Parse() {
    if (scanner_.Next().text != "library")
      return Fault("is no Liberty file: it does not begin with 'library'");
    KILN_ASSIGN_OR_RETURN(library_.name, Arguments());
    if (scanner_.Next().kind != '{') return Fault("'{' expected after library (...)");
    KILN_RETURN_IF_ERROR(Group({"library", library_.name}));
    const auto has_flip_flop = [](const auto& cell) { return cell.second.is_flip_flop; };
    if (std::none_of(library_.cells.begin(), library_.cells.end(), has_flip_flop)) {
      return ErrorAt(file_, "", "has no cell that is a flip-flop",
                     "give a library of standard cells");
    }
    FindClockGate();
    return std::move(library_);
  }

 private:
  // The enclosing group.
  struct Place {
    std::string_view kind;
    std::string name;
  };

  // Returns an error at the present line.
  Status Fault(std::string_view fault) const {
    return ErrorAt(file_, fmt::format("line {}", scanner_.line()), fault, "give a Liberty file");
  }

  // Reads "( a , b )" and returns the words joined by commas.
  StatusOr<std::string> Arguments() {
    if (scanner_.Next().kind != '(') return Fault("'(' expected");
    std::string words;
    for (;;) {
      const Scanner::Token token = scanner_.Next();
      if (token.kind == 0) return Fault("ends inside ( )");
      if (token.kind == ')') return words;
      words += token.text;
    }
  }

  // Reads the members of a group after its '{', and its '}'.
  Status Group(const Place& place) {
    if (++depth_ > budgets::kLibertyDepth) {
      return ErrorAt(file_, fmt::format("line {}", scanner_.line()), "groups are nested too deeply",
                     fmt::format("at most {} levels", budgets::kLibertyDepth));
    }
    for (;;) {
      const Scanner::Token name = scanner_.Next();
      if (name.kind == '}') break;
      if (name.kind == ';') continue;
      if (name.kind != 'n')
        return Fault(name.kind == 0 ? "ends inside a group" : "a name expected");
      KILN_RETURN_IF_ERROR(Member(place, name.text));
    }
    --depth_;
    return OkStatus();
  }

  // Reads one member after its name: an attribute `: value ;`, a complex attribute `(arguments) ;`
  // or a group `(arguments) { ... }`.
  Status Member(const Place& place, std::string_view name) {
    Scanner mark = scanner_;
    const Scanner::Token next = scanner_.Next();
    if (next.kind == ':') {
      const Scanner::Token value = scanner_.Next();
      if (value.kind != 'n') return Fault("a value expected after ':'");
      return Attribute(place, name, value.text);
    }
    if (next.kind != '(') return Fault("':' or '(' expected after a name");
    scanner_ = mark;
    KILN_ASSIGN_OR_RETURN(const std::string arguments, Arguments());
    mark = scanner_;
    if (scanner_.Next().kind != '{') {
      scanner_ = mark;
      return OkStatus();
    }
    Begin(place, name, arguments);
    KILN_RETURN_IF_ERROR(Group({name, arguments}));
    if (name == "cell") End(arguments);
    return OkStatus();
  }

  // Starts a group inside `place`.
  void Begin(const Place& place, std::string_view name, const std::string& arguments) {
    if (name == "cell") {
      cell_ = LibertyCell();
      pins_.clear();
      latch_ = Latch();
      gating_ = "";
      is_usable_ = true;
    }
    if (place.kind != "cell") return;
    if (name == "ff" || name == "ff_bank") cell_.is_flip_flop = true;
    if (name == "latch" || name == "latch_bank") cell_.is_latch = true;
    if (name == "latch") latch_.state = arguments.substr(0, arguments.find(','));
    if (name == "pin") {
      pins_.push_back({.name = arguments, .direction = {}, .function = {}, .gating = {}});
    }
  }

  // Stores the attributes of cells and pins that synthesis needs; ignores others.
  Status Attribute(const Place& place, std::string_view name, std::string_view value) {
    if (place.kind == "cell" && name == "area") return ReadNumber(name, value, &cell_.area);
    if (place.kind == "cell" && name == "clock_gating_integrated_cell") gating_ = value;
    if (place.kind == "cell" && (name == "dont_use" || name == "is_isolation_cell"))
      is_usable_ = is_usable_ && value != "true";
    if (place.kind == "latch" && name == "data_in") latch_.data = value;
    if (place.kind == "latch" && name == "enable") latch_.enable = value;
    if (place.kind != "pin" || pins_.empty()) return OkStatus();
    constexpr std::string_view kGating = "clock_gate_", kPin = "_pin";
    if (name.starts_with(kGating) && name.ends_with(kPin) && value == "true") {
      pins_.back().gating = name.substr(kGating.size(), name.size() - kGating.size() - kPin.size());
    }
    if (name == "direction") pins_.back().direction = value;
    if (name == "function") pins_.back().function = value;
    if (name == "capacitance") return ReadNumber(name, value, &pins_.back().capacitance);
    return OkStatus();
  }
  Status ReadNumber(std::string_view name, std::string_view text, double* value) const {
    const std::optional<double> number = NumberOf(text);
    if (!number.has_value()) {
      return Fault(fmt::format("{} '{}' is not a number of 0 or more", name, text.substr(0, 40)));
    }
    *value = *number;
    return OkStatus();
  }

  // Finishes a cell: derives its properties from its pins.
  void End(const std::string& name) {
    std::vector<const Pin*> inputs, outputs;
    for (const Pin& pin : pins_) {
      if (pin.direction == "input") inputs.push_back(&pin);
      if (pin.direction == "output") outputs.push_back(&pin);
    }
    for (const Pin* pin : inputs)
      cell_.input_capacitance = std::max(cell_.input_capacitance, pin->capacitance);
    cell_.is_inverter = inputs.size() == 1 && outputs.size() == 1 &&
                        IsComplement(outputs[0]->function, inputs[0]->name);
    library_.cells[name] = cell_;
    ConsiderForClockGate(name, inputs, outputs);
  }

  // Keeps a cell as a part of the clock gate if it can be one and has no more area than the one
  // before.
  void ConsiderForClockGate(const std::string& name, const std::vector<const Pin*>& inputs,
                            const std::vector<const Pin*>& outputs) {
    const auto replaces = [&](const std::string& before) {
      return before.empty() || cell_.area <= library_.cells.at(before).area;
    };
    // Names become part of scripts.
    const bool is_named = IsIdentifier(name) && std::ranges::all_of(pins_, [](const Pin& pin) {
                            return IsIdentifier(pin.name);
                          });
    if (!is_named || !is_usable_) return;
    if (!gating_.empty()) {
      ConsiderIntegrated(name, inputs, replaces(integrated_.gate));
    } else if (cell_.is_latch && inputs.size() == 2) {
      ConsiderLatch(name, inputs, outputs, replaces(separate_.latch));
    } else if (inputs.size() == 2 && outputs.size() == 1 && !cell_.is_flip_flop &&
               IsConjunction(outputs[0]->function, inputs[0]->name, inputs[1]->name) &&
               replaces(separate_.gate)) {
      separate_.gate = name;
      separate_.gate_clock = inputs[0]->name;
      separate_.gate_enable = inputs[1]->name;
      separate_.gate_output = outputs[0]->name;
    }
  }
  // Keeps an integrated clock gate. A test input before or after the latch opens the gate; an
  // output to observe the enable is left open.
  void ConsiderIntegrated(const std::string& name, const std::vector<const Pin*>& inputs,
                          bool replaces) {
    static const std::set<std::string_view> kKinds = {
        "latch_posedge", "latch_posedge_precontrol", "latch_posedge_postcontrol",
        "latch_posedge_precontrol_obs", "latch_posedge_postcontrol_obs"};
    if (!replaces || !kKinds.contains(gating_)) return;
    ClockGate gate;
    gate.gate = name;
    for (const Pin* pin : inputs) {
      if (pin->gating == "clock") gate.gate_clock = pin->name;
      if (pin->gating == "enable") gate.gate_enable = pin->name;
      if (pin->gating == "test") gate.gate_test = pin->name;
      if (pin->gating.empty()) return;
    }
    for (const Pin& pin : pins_) {
      if (pin.gating == "out") gate.gate_output = pin.name;
    }
    if (!gate.gate_clock.empty() && !gate.gate_enable.empty() && !gate.gate_output.empty())
      integrated_ = gate;
  }
  // Keeps a latch without set and reset whose output is its state.
  void ConsiderLatch(const std::string& name, const std::vector<const Pin*>& inputs,
                     const std::vector<const Pin*>& outputs, bool replaces) {
    const Pin *data = nullptr, *enable = nullptr, *output = nullptr;
    bool low = false;
    for (const Pin* pin : inputs) {
      const bool is_low = IsComplement(latch_.enable, pin->name);
      if (Bare(latch_.data) == pin->name) data = pin;
      if (Bare(latch_.enable) != pin->name && !is_low) continue;
      enable = pin;
      low = is_low;
    }
    for (const Pin* pin : outputs) {
      if (Bare(pin->function) == latch_.state) output = pin;
    }
    if (data == nullptr || enable == nullptr || output == nullptr || !replaces) return;
    separate_.latch = name;
    separate_.latch_data = data->name;
    separate_.latch_enable = enable->name;
    separate_.latch_output = output->name;
    separate_.latch_is_transparent_low = low;
  }
  // Sets the library's clock gate to the cells that were found.
  void FindClockGate() {
    if (!integrated_.gate.empty()) {
      library_.clock_gate = integrated_;
    } else if (!separate_.gate.empty() && !separate_.latch.empty()) {
      library_.clock_gate = separate_;
    }
  }

  Scanner scanner_;
  std::string file_;
  LibertyLibrary library_;
  LibertyCell cell_;
  std::vector<Pin> pins_;
  Latch latch_;
  std::string gating_;               // the kind of clock gate that the cell is; else ""
  bool is_usable_ = true;            // whether no attribute of the cell rules its use out
  ClockGate integrated_, separate_;  // the best cells so far
  int depth_ = 0;
};

}  // namespace

std::string LibertyLibrary::MiddleInverter() const {
  std::vector<std::pair<double, std::string>> inverters;
  for (const auto& [name, cell] : cells) {
    if (cell.is_inverter) inverters.emplace_back(cell.area, name);
  }
  if (inverters.empty()) return "";
  std::sort(inverters.begin(), inverters.end());
  return inverters[inverters.size() / 2].second;
}

StatusOr<LibertyLibrary> ParseLiberty(std::string_view text, const std::string& file) {
  return LibertyParser(text, file).Parse();
}

std::filesystem::path DefaultLiberty() {
  return "/usr/share/qflow/tech/osu018/osu018_stdcells.lib";
}

}  // namespace kiln::hardware
