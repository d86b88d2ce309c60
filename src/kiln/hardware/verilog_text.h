// What SystemVerilog text says without a parser: enough for names.
#ifndef KILN_HARDWARE_VERILOG_TEXT_H_
#define KILN_HARDWARE_VERILOG_TEXT_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace kiln::hardware {

std::string WithoutComments(const std::string& text);

// Every name and keyword in the text, which has no comments.
std::set<std::string> NamesIn(std::string_view text);

// From the name of the module to its endmodule, in text without comments; nothing: the text defines no such module.
std::optional<std::string_view> ModuleIn(std::string_view text, std::string_view module);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_VERILOG_TEXT_H_
