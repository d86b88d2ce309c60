// Shortens the names of layers.
#include "kiln/targets/dataflow/compile/stage_name.h"

#include <absl/strings/str_split.h>

#include <vector>

#include "kiln/hardware/tool_names.h"

namespace kiln::dataflow {

std::string StageName(std::string_view layer) {
  // Nodes of a layer are joined by "+".
  const std::string first(layer.substr(0, layer.find('+')));
  const std::vector<std::string> parts = absl::StrSplit(first, '/', absl::SkipEmpty());
  std::string name;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool repeated = i + 1 < parts.size() &&
                          (parts[i + 1] == parts[i] || parts[i + 1].starts_with(parts[i] + "."));
    if (!repeated) name += (name.empty() ? "" : "_") + parts[i];
  }
  return hardware::PlainName(name.empty() ? "layer" : name);
}

}  // namespace kiln::dataflow
