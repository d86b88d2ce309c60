// Reads and prints design points by the table of keys, and checks how keys fit each other.

#include "kiln/targets/binary/config/config.h"

#include <string>

#include "kiln/support/yaml.h"
#include "kiln/targets/binary/config/keys.h"

namespace kiln::binary {
namespace {

void CheckTogether(const Config& config, const YamlMap& map) {
  if (config.channels_0 % config.beat_codes() != 0) {
    map.Fail("channels_0",
             fmt::format("{} activations of {} bits are not a whole number of beats of {} bytes",
                         config.channels_0, config.activation_bits, config.beat_bytes),
             fmt::format("a multiple of {}", config.beat_codes()));
  }
  for (int i = 0; i < config.stages; ++i) {
    if (i > 0 && config.channels(i) % config.columns(i - 1) != 0) {
      map.Fail(fmt::format("channels_{}", i),
               fmt::format("{} channels are not a whole number of words of the stage before, "
                           "which has {} columns",
                           config.channels(i), config.columns(i - 1)),
               fmt::format("a multiple of {}", config.columns(i - 1)));
    }
    if (2 * config.columns(i) > config.beat_codes()) {
      map.Fail(fmt::format("columns_{}", i),
               fmt::format("{} results leave no room for their stage's number in a beat of {} "
                           "activations",
                           config.columns(i), config.beat_codes()),
               fmt::format("at most {}", config.beat_codes() / 2));
    }
  }
}

}  // namespace

StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source) {
  KILN_ASSIGN_OR_RETURN(const YamlFile file, YamlFile::Parse(yaml, source));
  Config config;
  hardware::KeyReader<Config> reader(Keys(), file.root(), &config);
  reader.ReadRest();
  if (reader.values_fit()) CheckTogether(config, file.root());
  KILN_RETURN_IF_ERROR(file.Finish());
  return config;
}

std::string PrintConfig(const Config& config) { return Keys().Print(config); }

}  // namespace kiln::binary
