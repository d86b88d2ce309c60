// Writes a program as JSON.

#include "fmt/format.h"
#include "kiln/support/json_text.h"
#include "kiln/targets/cgra/chart/chart.h"

namespace kiln::cgra {
namespace {

using Json = nlohmann::ordered_json;

Json TileJson(const CgraProgram& program, int tile) {
  const TileProgram& at = program.tiles[static_cast<size_t>(tile)];
  Json spokes = Json::array(), instructions = Json::array();
  for (size_t slot = 0; slot < at.spokes.size(); ++slot) {
    spokes.push_back(Json{{"slot", slot},
                          {"word", fmt::format("{:08x}", Encode(at.spokes[slot]))},
                          {"text", Print(at.spokes[slot])},
                          {"nodes", at.names[slot]}});
  }
  for (const InstructionEntry& instruction : at.instructions) {
    const InstructionWord word = Encode(instruction);
    instructions.push_back(Json{{"word", fmt::format("{:016x}{:016x}", word[1], word[0])},
                                {"text", Print(instruction)}});
  }
  Json memories = Json::array();
  for (const MemoryContent& content : program.contents) {
    if (content.tile != tile) continue;
    memories.push_back(Json{{"memory", content.memory},
                            {"address", content.address},
                            {"name", content.name},
                            {"lanes", content.lanes}});
  }
  return Json{{"tile", tile},
              {"spoke_ram", std::move(spokes)},
              {"instruction_ram", std::move(instructions)},
              {"memory", std::move(memories)}};
}

}  // namespace

std::string ConfigurationJson(const CgraProgram& program) {
  const Config& config = program.config;
  Json tiles = Json::array(), bases = Json::array(), deliveries = Json::array(),
       outputs = Json::array();
  for (int tile = 0; tile < static_cast<int>(program.tiles.size()); ++tile) {
    tiles.push_back(TileJson(program, tile));
    const TileProgram& at = program.tiles[static_cast<size_t>(tile)];
    for (size_t slot = 0; slot < at.spokes.size(); ++slot) {
      if (!at.spokes[slot].valid || !at.spokes[slot].base) continue;
      bases.push_back(Json{{"tile", tile}, {"slot", slot}, {"nodes", at.names[slot]}});
    }
  }
  size_t beat = 0;
  for (const Delivery& delivery : program.deliveries) {
    if (!delivery.same_beat) ++beat;
    const auto input = static_cast<size_t>(program.beats[beat - 1]);
    deliveries.push_back(Json{{"word", fmt::format("{:08x}", Encode(delivery))},
                              {"text", Print(delivery)},
                              {"input", program.inputs[input]}});
  }
  for (size_t output = 0; output < program.outputs.size(); ++output) {
    outputs.push_back(
        Json{{"name", program.outputs[output]}, {"issue", program.output_issues[output]}});
  }
  return JsonText(Json{{"format", kConfigurationFormat},
                       {"name", program.name},
                       {"machine",
                        {{"name", config.name},
                         {"tiles", config.tiles()},
                         {"reach", config.reach},
                         {"lanes", config.lanes},
                         {"memory_depth", config.memory_depth},
                         {"ring_entries", config.ring_entries},
                         {"wait_limit", config.wait_limit}}},
                       {"initiation_interval", program.interval},
                       {"latency", program.latency},
                       {"inputs", program.inputs},
                       {"outputs", std::move(outputs)},
                       {"base", std::move(bases)},
                       {"deliveries", std::move(deliveries)},
                       {"tiles", std::move(tiles)}});
}

}  // namespace kiln::cgra
