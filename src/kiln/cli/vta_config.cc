#include "kiln/cli/vta_config.h"

#include <CLI/App.hpp>
#include <filesystem>

#include "kiln/cli/resources.h"

namespace kiln::cli {

void DeclareVtaConfig(CLI::App& app, std::string* name, const std::string& remark) {
  app.add_option("--on,--config", *name,
                 "The machine: a name (kiln list accelerators), a YAML file or the original's configuration (JSON); "
                 "default: the original's default" +
                     remark)
      ->type_name("ACCELERATOR");
}

StatusOr<vta::Config> FindVtaConfig(const std::string& name) {
  if (name.empty()) return vta::LoadConfig("");
  KILN_ASSIGN_OR_RETURN(const std::filesystem::path file, FindResource("accelerators", name));
  return vta::LoadConfig(file.string());
}

}  // namespace kiln::cli
