// Extracts names from SystemVerilog without parsing it: enough to find the modules that a text
// uses.
#ifndef KILN_HARDWARE_VERILOG_TEXT_H_
#define KILN_HARDWARE_VERILOG_TEXT_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace kiln::hardware {

// Returns the text without comments; a block comment becomes a blank.
std::string WithoutComments(const std::string& text);

// Returns all names and keywords in text without comments.
std::set<std::string> NamesIn(std::string_view text);

// Returns the text from the module's name to its endmodule, or nullopt if the text, which must not
// contain comments, does not define the module.
std::optional<std::string_view> ModuleIn(std::string_view text, std::string_view module);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_VERILOG_TEXT_H_
