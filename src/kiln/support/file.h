// Whole-file reading and all-or-nothing writing.
#ifndef KILN_SUPPORT_FILE_H_
#define KILN_SUPPORT_FILE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln {

// The bytes of a file. Errors name the path: not there, a directory, not readable, larger than `max_bytes`.
StatusOr<std::string> ReadFile(const std::filesystem::path& path, uint64_t max_bytes = uint64_t{1} << 36);

// Writes beside `path` and renames over it, so that a reader finds the old file or the new one, never a part. A link
// stays one; a device or pipe is written to.
Status WriteFile(const std::filesystem::path& path, std::string_view bytes);

}  // namespace kiln

#endif  // KILN_SUPPORT_FILE_H_
