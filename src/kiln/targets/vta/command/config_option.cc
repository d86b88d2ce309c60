// Declares the option --on of the commands of `kiln vta`.
#include "kiln/targets/vta/command/config_option.h"

#include <CLI/App.hpp>

namespace kiln::cli {

void DeclareVtaConfig(CLI::App& app, std::string* name, const std::string& remark) {
  app.add_option("--on,--config", *name,
                 "The machine: a name (kiln list accelerators), a YAML file or the original's "
                 "configuration (JSON); "
                 "default: the original's default" +
                     remark)
      ->type_name("ACCELERATOR");
}

}  // namespace kiln::cli
