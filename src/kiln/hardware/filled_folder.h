// Folders that a user names and Kiln fills: designs, and what a synthesis leaves. Somebody else may have filled them
// before, and then nothing is written through a link in them, and nothing into a FIFO, a socket or a device.
#ifndef KILN_HARDWARE_FILLED_FOLDER_H_
#define KILN_HARDWARE_FILLED_FOLDER_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::hardware {

// Returns the first part of the path `file` below `folder` that is a link; empty: none is, so that the file, if it is
// there, is inside of the folder.
std::string LinkIn(const std::filesystem::path& folder, const std::filesystem::path& file);

// Error: LinkIn finds one.
Status CheckNoLink(const std::filesystem::path& folder, const std::filesystem::path& file);

// Checks all that is below `folder`, which need not be there. Error, which names the first by its path: something
// that is neither a regular file nor a folder, but for a link named `link` at the top.
Status CheckOnlyFiles(const std::filesystem::path& folder, std::string_view link = "");

// Writes `file` below `folder`. A file that has this text keeps its time, so that make builds anew only what differs.
// Errors: CheckNoLink's; something stands there that is not a regular file.
Status WriteBelow(const std::filesystem::path& folder, const std::filesystem::path& file,
                  const std::string& text);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_FILLED_FOLDER_H_
