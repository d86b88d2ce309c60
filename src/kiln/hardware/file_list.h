// filelist.f: the source files of a design, in the order in which tools read them.
#ifndef KILN_HARDWARE_FILE_LIST_H_
#define KILN_HARDWARE_FILE_LIST_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

struct ListedFile {
  std::string path;  // as IsPlainPath (hardware/tool_names.h) has it
  int line = 0;      // from 1
};

// Reads a list: a path a line; empty lines and those that begin with # or // are left out, and so are blanks and a
// carriage return at a line's end. Looks at no files. Errors name `file` and the line: a path that is not plain
// (options of tools and paths out of the folder among them), too many files or bytes, none.
StatusOr<std::vector<ListedFile>> ParseFileList(std::string_view text, const std::string& file);

// Checks that a listed file is a file and, behind all links, inside of `folder`. Errors name `list` and the line.
Status CheckListedFile(const std::filesystem::path& folder, const ListedFile& file,
                       const std::string& list);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_FILE_LIST_H_
