// A line-oriented parser of RTLIL. It keeps lines as text and interprets only names, ports and
// instances.

#include "kiln/hardware/rtlil.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace kiln::hardware {
namespace {

// Returns whether a word begins like a name in RTLIL: \ for names of the source, $ for made-up
// ones.
bool BeginsAsName(std::string_view name) { return name.starts_with('\\') || name.starts_with('$'); }

// Returns a name without its backslash, and the inverse. An escaped name of the source that itself
// begins with \ or $ keeps its backslash, so that Written inverts Plain.
std::string Plain(std::string_view name) {
  const bool strips = name.starts_with('\\') && !BeginsAsName(name.substr(1));
  return std::string(strips ? name.substr(1) : name);
}
std::string Written(const std::string& name) { return BeginsAsName(name) ? name : '\\' + name; }

// Returns a line without leading blanks, and its first word.
std::string_view Trimmed(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}
std::string_view FirstWord(std::string_view trimmed) {
  return trimmed.substr(0, trimmed.find(' '));
}
// Returns the rest of a line after its first word `word` and one blank.
std::string_view After(std::string_view word, std::string_view trimmed) {
  return trimmed.substr(std::min(word.size() + 1, trimmed.size()));
}

// Returns whether an attribute has no influence on the result and is dropped, such as positions in
// the source. keep_hierarchy is dropped as well: a module that becomes part of another one would
// remain a module, under a name that is not known.
bool IsOfTheSource(std::string_view attribute) {
  for (const std::string_view name :
       {"src", "hdlname", "top", "initial_top", "dynports", "cells_not_processed",
        "module_not_derived", "keep_hierarchy"}) {
    if (attribute == name) return true;
  }
  return false;
}

// Returns whether a word is a complete name.
bool IsName(std::string_view name) {
  return name.size() > 1 && BeginsAsName(name) && name.find(' ') == std::string_view::npos;
}

constexpr std::string_view kMemory = "parameter \\MEMID \"";

// Parses a design line by line; a line inside a module is appended to the module's body.
class RtlilParser {
 public:
  explicit RtlilParser(const std::string& text) : text_(text) {}

  // Parses all lines. Instances of cells that are not modules of the design are dropped at the end,
  // when all modules are known.
  StatusOr<RtlilDesign> Parse() {
    for (size_t at = 0; at < text_.size();) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      KILN_RETURN_IF_ERROR(Line(text_.substr(at, end - at)));
      at = end + 1;
    }
    if (module_ != nullptr) return absl::InternalError("RTLIL: a module does not end");
    if (design_.empty()) return absl::InternalError("RTLIL: there is no module");
    for (auto& [name, module] : design_) {
      std::erase_if(module.instances,
                    [this](const auto& instance) { return !design_.contains(instance.module); });
    }
    return std::move(design_);
  }

 private:
  // Parses one line. Attributes are collected until the line that they belong to.
  Status Line(std::string_view line) {
    const std::string_view trimmed = Trimmed(line), word = FirstWord(trimmed);
    if (word.empty() || word.starts_with('#')) return OkStatus();
    if (word == "attribute") {
      const std::string_view name = FirstWord(After(word, trimmed));
      if (!IsOfTheSource(Plain(name))) attributes_ += std::string(line) + '\n';
      return OkStatus();
    }
    if (module_ == nullptr) return Outside(line, word);
    if (line == "end") {
      module_ = nullptr;
      return OkStatus();
    }
    return Inside(line, trimmed, word);
  }

  // Parses a line outside of modules.
  Status Outside(std::string_view line, std::string_view word) {
    if (word == "autoidx") return OkStatus();
    if (word != "module")
      return absl::InternalError(fmt::format("RTLIL: '{}' outside of modules", line));
    const std::string_view name = After(word, line);
    if (!IsName(name)) return absl::InternalError(fmt::format("RTLIL: '{}' names no module", line));
    const auto [at, is_new] = design_.try_emplace(Plain(name));
    if (!is_new)
      return absl::InternalError(fmt::format("RTLIL: the module '{}' occurs twice", at->first));
    module_ = &at->second;
    module_->attributes = std::exchange(attributes_, "");
    numbers_.clear();
    return OkStatus();
  }

  // Parses a line inside a module.
  Status Inside(std::string_view line, std::string_view trimmed, std::string_view word) {
    const bool of_module = line.size() - trimmed.size() == 2;
    if (word == "process") return absl::InternalError("RTLIL: a module has processes");
    if (word == "parameter" && of_module) {
      const std::string_view rest = After(word, trimmed), name = FirstWord(rest);
      module_->parameters.emplace_back(Plain(name), std::string(After(name, rest)));
      return OkStatus();
    }
    module_->body += std::exchange(attributes_, "");
    if (word == "cell") {
      const std::string_view rest = After(word, trimmed), type = FirstWord(rest);
      if (!IsName(type)) return absl::InternalError(fmt::format("RTLIL: '{}' names no type", line));
      module_->body += "  cell ";
      module_->instances.push_back({module_->body.size(), Plain(type)});
      module_->body += type;
      module_->body += Numbered(rest.substr(type.size()));
    } else if (word == "wire" || word == "memory" || word == "connect") {
      const std::string numbered = Numbered(line);
      if (word == "wire" && IsPort(trimmed)) module_->ports.emplace_back(Trimmed(numbered));
      module_->body += numbered;
    } else if (word == "parameter" && trimmed.starts_with(kMemory)) {
      module_->body += MemoryName(line);
    } else {
      module_->body += line;
    }
    module_->body += '\n';
    return OkStatus();
  }

  // Returns whether a wire is a port.
  static bool IsPort(std::string_view wire) {
    const std::string_view options = wire.substr(0, wire.rfind(' ') + 1);
    for (const std::string_view direction : {" input ", " output ", " inout "}) {
      if (options.find(direction) != std::string_view::npos) return true;
    }
    return false;
  }

  // Renumbers the memory's name in the parameter MEMID of a memory port, a string at the end of the
  // line. Leaves other strings unchanged.
  std::string MemoryName(std::string_view line) {
    const size_t begin = line.find('"') + 1;
    std::string name;
    size_t at = begin;
    for (; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size()) ++at;
      name += line[at];
    }
    if (!name.starts_with('$') || at + 1 != line.size() || name.find(' ') != std::string::npos) {
      return std::string(line);
    }
    return std::string(line.substr(0, begin)) + Numbered(name) + '"';
  }

  // Returns the line with the names that Yosys made up replaced by numbers, in order of first
  // occurrence. Names contain no blanks; strings may contain anything and are copied.
  std::string Numbered(std::string_view line) {
    std::string out;
    for (size_t at = 0; at < line.size();) {
      size_t end = at + 1;
      if (line[at] == '"') {
        while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
        end = std::min(end + 1, line.size());
      } else if (line[at] != ' ') {
        end = std::min(line.find(' ', at), line.size());
      }
      const std::string_view token = line.substr(at, end - at);
      if (token.starts_with('$')) {
        out += fmt::format(
            "${}", numbers_.try_emplace(std::string(token), numbers_.size() + 1).first->second);
      } else {
        out += token;
      }
      at = end;
    }
    return out;
  }

  std::string_view text_;
  RtlilDesign design_;
  RtlilModule* module_ = nullptr;          // the module being parsed; null outside of modules
  std::string attributes_;                 // attributes of the next line
  std::map<std::string, size_t> numbers_;  // numbers of made-up names in this module
};

}  // namespace

StatusOr<RtlilDesign> ParseRtlil(const std::string& text) { return RtlilParser(text).Parse(); }

RtlilPort PortOf(const std::string& line) {
  RtlilPort port;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word == "width") words >> port.width;
    if (word == "input") port.input = true;
    if (word.starts_with('\\')) port.name = word.substr(1);
  }
  return port;
}

std::string ToRtlil(const RtlilModule& module, const std::string& name,
                    const std::function<std::string(const std::string& module)>& name_of) {
  std::string out = fmt::format("{}module {}\n", module.attributes, Written(name));
  size_t at = 0;
  for (const RtlilModule::Instance& instance : module.instances) {
    out.append(module.body, at, instance.at - at);
    out += Written(name_of(instance.module));
    at = instance.at + Written(instance.module).size();
  }
  return out.append(module.body, at) + "end\n";
}

std::string BlackBox(const RtlilModule& module, const std::string& name, const std::string& clock) {
  std::string out =
      fmt::format("attribute \\blackbox 1\n{}module {}\n", module.attributes, Written(name));
  for (const std::string& port : module.ports) {
    if (PortOf(port).name == clock) out += "  attribute \\clkbuf_sink 1\n";
    out += fmt::format("  {}\n", port);
  }
  return out + "end\n";
}

}  // namespace kiln::hardware
