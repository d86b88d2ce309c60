// Checks the names of a package, and collects its files.

#include "kiln/hardware/design_package.h"

#include <string_view>

#include "fmt/format.h"
#include "kiln/hardware/tool_names.h"

namespace kiln::hardware {
namespace {

Status NotPlain(std::string_view what, std::string_view name) {
  return ErrorAt("", fmt::format("{} '{}'", what, PlainName(name)),
                 "cannot be written into scripts of other tools",
                 "letters, digits and _, and in paths also . - + /");
}

// Checks every name that becomes part of a script.
Status CheckNames(const DesignPackage& package) {
  const TopModule& top = package.top;
  if (!IsIdentifier(package.name)) return NotPlain("the name", package.name);
  if (!IsIdentifier(top.name)) return NotPlain("the top module", top.name);
  for (const Bus& bus : top.buses) {
    if (!IsIdentifier(bus.name)) return NotPlain("the bus", bus.name);
  }
  for (const auto* ports : {&top.ports, &top.observed}) {
    for (const Signal& port : *ports) {
      if (!IsIdentifier(port.name)) return NotPlain("the port", port.name);
    }
  }
  for (const auto* paths :
       {&package.sources, &package.contents, &package.data, &package.programs, &package.headers}) {
    for (const std::string& path : *paths) {
      if (!IsPlainPath(path)) return NotPlain("the file", path);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<std::pair<std::string, std::string>>> PackageFiles(
    const DesignPackage& package) {
  KILN_RETURN_IF_ERROR(CheckNames(package));
  return std::vector<std::pair<std::string, std::string>>{
      {kCoreFile, FuseSocCore(package)},
      {kComponentFile, IpXactComponent(package)},
      {kVivadoScript, VivadoScript(package)},
      {kConstraints, ClockConstraint(package)}};
}

}  // namespace kiln::hardware
