// The files that a command writes: checked before long work, written once there is a result.
#ifndef KILN_COMMAND_RESULT_FILES_H_
#define KILN_COMMAND_RESULT_FILES_H_

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "kiln/support/status.h"

namespace kiln::cli {

// Checks that the output file `path` can be created and written; "" and "-" always pass. A symbolic
// link is refused (CheckIsNoLink in support/file.h). It creates a file in the folder, or in the
// nearest parent that exists, and removes it again; it creates no folder. Commands call it before
// long work, so that the work is not lost.
Status CheckOutput(const std::string& path);
// Checks each output as CheckOutput does, and that no two are the same file and none is one of
// `inputs`. Empty paths are options that are not given.
Status CheckOutputs(std::span<const std::string> paths,
                    std::span<const std::filesystem::path> inputs = {});
inline Status CheckOutputs(std::initializer_list<std::string> paths,
                           std::span<const std::filesystem::path> inputs = {}) {
  return CheckOutputs(std::span(paths.begin(), paths.size()), inputs);
}
// Checks that no output file is the folder that a command fills, or lies in it. Empty texts are
// options that are not given.
Status CheckOutside(const std::string& folder, std::initializer_list<std::string> paths);
// Returns an error if `path` is "-" (standard output), for outputs that need a file.
Status CheckIsFile(std::string_view option, const std::string& path);
// Checks that `path`, if given, can be the file of an .npz archive: its name ends in .npz, and only
// a regular file is replaced.
Status CheckArchive(std::string_view option, const std::string& path);
// Checks that files can be written in the folder, which may not exist yet; "" always passes.
Status CheckOutputFolder(const std::string& folder);

// Creates the folder of an output file.
Status MakeFolderOf(const std::string& path);
// Creates the folder of the file and writes the file. Commands call it once they have all the
// bytes, so that a command that fails leaves no file.
Status WriteOutput(const std::string& path, std::string_view bytes);
// Writes a command's results: `json` to the file of --json (`path`; "-" is standard output, "" is
// nowhere), and `text` to standard output unless the JSON goes there.
Status WriteResults(std::ostream& out, const std::string& path, std::string_view text,
                    std::string_view json);
// Writes the page of --report to `path`, if that is given; `make` returns it. A line on standard
// output names the page behind `label`, unless the JSON goes there (`json_path` is "-").
Status WritePage(std::ostream& out, const std::string& path, const std::string& json_path,
                 const std::function<std::string()>& make,
                 std::string_view label = "report       ");

}  // namespace kiln::cli

#endif  // KILN_COMMAND_RESULT_FILES_H_
