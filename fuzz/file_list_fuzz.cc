// Fuzz target: parses any bytes as a list of source files. The result must be a one-line error that
// names the list, or paths inside the folder that all tools read as plain words.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/hardware/file_list.h"
#include "kiln/hardware/tool_names.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto list =
      kiln::hardware::ParseFileList({reinterpret_cast<const char*>(bytes), size}, "filelist.f");
  if (!list.ok()) {
    const std::string message = kiln::MessageOf(list.status());
    KILN_CHECK(message.rfind("filelist.f: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  KILN_CHECK(!list->empty());
  int last = 0;
  for (const auto& file : *list) {
    KILN_CHECK(file.line > last);
    last = file.line;
    KILN_CHECK(kiln::hardware::IsPlainPath(file.path));
    // Characters that have a special meaning to the shell, Yosys or Tcl.
    KILN_CHECK(file.path.find_first_of(" \t;&|<>$`\"'\\*?[]{}()!#~\n\r") == std::string::npos &&
               file.path[0] != '-');
    const std::filesystem::path path(file.path);
    KILN_CHECK(!path.is_absolute());
    for (const auto& part : path) KILN_CHECK(part != "..");
  }
  return 0;
}
