// The tiles and the synchronous fabric between them, one fabric cycle at a time.
#ifndef KILN_TARGETS_CGRA_SIMULATE_CYCLE_FABRIC_H_
#define KILN_TARGETS_CGRA_SIMULATE_CYCLE_FABRIC_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/isa/instruction.h"

namespace kiln::cgra {

// A result that a tile sends to an output.
struct FabricResult {
  int output = 0;
  std::span<const uint32_t> lanes;  // valid until the next fabric cycle
};

// Holds the configuration and the memories of all tiles and executes fabric cycles on them. Lanes
// are 32 bits each, lane 0 first. Results are computed at issue and then travel as references into
// the sender's store; the pipeline only delays them.
class Fabric {
 public:
  explicit Fabric(const Config& config);

  // Writes of the asynchronous fabric, at the end of a clock cycle.
  void WriteMemory(int tile, int memory, int address, std::span<const uint32_t> lanes);
  void WriteSpoke(int tile, int slot, uint32_t word);
  void WriteInstruction(int tile, int address, const InstructionWord& word);

  // Begins a run: no message is valid, tiles fetch. Errors name a tile's entry that Check refuses.
  Status Begin(int interval);
  // Executes one fabric cycle. `base_valid` and `base_thread` are the message of `base`. Returns
  // the results that are in their registers after this cycle.
  const std::vector<FabricResult>& Cycle(int slot, bool base_valid, int base_thread);

  // Fabric cycles in which the tile fired, over all runs.
  int64_t fired(int tile) const { return tiles_[static_cast<size_t>(tile)].fired; }

 private:
  // A message; its lanes are in the sender's `store` at this place.
  struct Message {
    bool valid = false;
    int thread = 0;
    int tile = 0, place = 0;
  };
  // A result in the pipeline or in its register.
  struct Result {
    Message message;
    uint32_t links = 0;
    int output = -1;
  };
  struct Tile {
    std::vector<uint32_t> spoke_words;
    std::vector<InstructionWord> instruction_words;
    std::array<std::vector<uint32_t>, 2> memory;
    // What the run fetches, by slot.
    std::vector<SpokeEntry> spokes;
    std::vector<InstructionEntry> instructions;
    std::vector<Result> pipeline;             // by stage; the last one is the result register
    std::vector<std::vector<Message>> links;  // registers of each link that leaves the tile
    std::vector<std::vector<Message>> lines;  // the last messages of each line, as rings
    std::vector<uint32_t> store;              // lanes of the last results, as a ring
    int64_t fired = 0;
  };

  void Arrive();
  void Issue(int number, int slot, const Message& base);
  void Compute(int number, const SpokeEntry& spoke, const InstructionEntry& entry, int thread);
  const Message& At(const Tile& tile, int line, int delay) const;

  Config config_;
  size_t lanes_;
  std::vector<Tile> tiles_;
  int64_t cycle_ = 0;  // of the run
  int line_length_ = 1, store_length_ = 1;
  std::vector<FabricResult> results_;
  std::array<std::vector<uint32_t>, 3> in_;  // scratch
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_SIMULATE_CYCLE_FABRIC_H_
