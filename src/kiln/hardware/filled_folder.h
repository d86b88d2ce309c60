// Output folders that the user names: designs and synthesis results. A folder may contain files
// that Kiln did not write. Kiln therefore never writes through a link in it, nor into a FIFO,
// socket or device.
#ifndef KILN_HARDWARE_FILLED_FOLDER_H_
#define KILN_HARDWARE_FILLED_FOLDER_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::hardware {

// Returns the first component of the path `file` below `folder` that is a link, or "" if there is
// none. Without a link the file is inside the folder.
std::string LinkIn(const std::filesystem::path& folder, const std::filesystem::path& file);

// Checks that LinkIn finds no link.
Status CheckNoLink(const std::filesystem::path& folder, const std::filesystem::path& file);

// Checks everything below `folder`, which need not exist. Errors name the first path that is
// neither a regular file nor a folder. A link named `link` directly in `folder` is allowed.
Status CheckOnlyFiles(const std::filesystem::path& folder, std::string_view link = "");

// Writes `file` below `folder`. A file that already has this text is left untouched, so that its
// time does not make `make` rebuild. Errors: those of CheckNoLink; the path exists and is not a
// regular file.
Status WriteBelow(const std::filesystem::path& folder, const std::filesystem::path& file,
                  const std::string& text);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_FILLED_FOLDER_H_
