// Lists of a design's source files (filelist.f, packages.f), in the order in which tools read them.
//
// A list may come from an untrusted folder. Its paths become part of scripts, so both the text and
// the files that it names are checked.
#ifndef KILN_HARDWARE_FILE_LIST_H_
#define KILN_HARDWARE_FILE_LIST_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

// Files of an emitted folder: the list of its sources, and Verilator's waivers.
inline constexpr char kFileList[] = "filelist.f", kWaivers[] = "waivers.vlt";

// An entry of a list.
struct ListedFile {
  std::string path;  // a plain path (IsPlainPath, hardware/tool_names.h)
  int line = 0;      // line number in the list, counted from 1
};

// Parses a list with one path per line. Ignores empty lines, lines that begin with # or //, and
// blanks and carriage returns at line ends. Does not access the listed files. Errors name `file`
// and the line: a path that is not plain (including tool options and paths out of the folder), too
// many files or bytes, no files.
StatusOr<std::vector<ListedFile>> ParseFileList(std::string_view text, const std::string& file);

// Checks that a listed file exists and that, after resolving links, it is inside `folder`. Errors
// name `list` and the line.
Status CheckListedFile(const std::filesystem::path& folder, const ListedFile& file,
                       const std::string& list);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_FILE_LIST_H_
