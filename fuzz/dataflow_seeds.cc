// Seeds of the fuzz targets of the dataflow family.
#include <filesystem>
#include <string>

#include "fmt/format.h"
#include "fuzz/seeds.h"
#include "kiln/support/random.h"
#include "kiln/targets/dataflow/config/config.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr int kNumbers = 40;

// Writes design points with every key of the dataflow family, and bytes from which its fuzz
// targets take the numbers of problems and pipelines.
void WriteDataflow(const fs::path& folder) {
  dataflow::Config config;
  config.name = "seed";
  config.ultrascale = config.two_way = false;
  config.target_fps = 30;
  config.products_per_dsp = 4;
  config.channel_bits = 4096;
  config.slack_percent = 2.5;
  config.channel_padding = true;
  config.weight_ports = 2;
  config.weight_port_bytes = 32;
  config.weight_latency = 40;
  WriteSeed(folder / "accelerator_yaml_fuzz/dataflow_ports.yaml", dataflow::PrintConfig(config));
  config.weight_ports = 0;
  config.passes = 3;
  config.reload_cycles = 100000;
  WriteSeed(folder / "accelerator_yaml_fuzz/dataflow_passes.yaml", dataflow::PrintConfig(config));
  config.passes = 1;
  config.devices = 2;
  WriteSeed(folder / "accelerator_yaml_fuzz/dataflow_devices.yaml", dataflow::PrintConfig(config));
  Random random(1);
  for (int i = 0; i < kNumbers; ++i) {
    std::string bytes(static_cast<size_t>(random.Between(100, 2000)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Below(256));
    WriteSeed(folder / fmt::format("dataflow_fold_fuzz/{}.bin", i), bytes);
    WriteSeed(folder / fmt::format("dataflow_pipeline_fuzz/{}.bin", i), bytes);
  }
}

const SeedWriter kDataflow(&WriteDataflow);

}  // namespace
}  // namespace kiln
