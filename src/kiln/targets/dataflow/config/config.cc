// Reads and prints design points by the table of keys.

#include "kiln/targets/dataflow/config/config.h"

#include "kiln/support/yaml.h"
#include "kiln/targets/dataflow/config/keys.h"

namespace kiln::dataflow {

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  Config config;
  config.uram = 0;
  hardware::KeyReader<Config> reader(Keys(), file.root(), &config);
  reader.ReadRest();
  if (config.devices > 1 && config.passes > 1) {
    file.root().Fail("devices", "does not go with 'passes' above 1",
                     "several devices or several passes over one device");
  }
  if (config.weight_ports > 0 && (config.devices > 1 || config.passes > 1)) {
    file.root().Fail("weight_ports", "does not go with 'devices' or 'passes' above 1",
                     "weights that are streamed to one device, in one pass");
  }
  KILN_RETURN_IF_ERROR(file.Finish());
  return config;
}

std::string PrintConfig(const Config& config) { return Keys().Print(config); }

}  // namespace kiln::dataflow
