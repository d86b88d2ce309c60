// A program of the cgra machine: the configuration of its tiles and dispatch, and the stream of
// beats that loads it and runs threads.
#ifndef KILN_TARGETS_CGRA_ISA_PROGRAM_H_
#define KILN_TARGETS_CGRA_ISA_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/isa/instruction.h"

namespace kiln::cgra {

// The configuration of one tile. Both lists of slots have `interval` entries.
struct TileProgram {
  std::vector<SpokeEntry> spokes;              // by slot
  std::vector<InstructionEntry> instructions;  // the instruction RAM from address 0
  std::vector<std::string> names;              // by slot: the user's nodes, for reports; "": idle
};

// What a tile memory holds before threads run.
struct MemoryContent {
  int tile = 0, memory = 0, address = 0;
  std::string name;            // what it is, for reports
  std::vector<int32_t> lanes;  // Config::lanes elements
};

// A program for one design point. Check says what must hold between its members.
struct CgraProgram {
  std::string name;
  Config config;
  int interval = 0;  // cycles between two threads
  int latency = 0;   // cycles from the start of a thread to its last result
  std::vector<TileProgram> tiles;
  std::vector<MemoryContent> contents;  // sorted by tile, memory and address
  std::vector<Delivery> deliveries;     // of a thread, in order
  std::vector<std::string> inputs;      // names, in the order of the graph
  std::vector<int> beats;               // of a thread's data, in order: which input each one holds
  std::vector<std::string> outputs;     // names; result k of a thread belongs to output k
  std::vector<int> output_issues;       // by output: the thread's cycle in which it is computed
};

// Checks that the machine can be built: what the mapping problem also offers for other machines has
// the values of docs/cgra-machine.md. Errors name the key and the value that hardware has.
Status CheckStreamMachine(const Config& config);

// Returns the entries that output queues need so that a program does not wait for itself: results
// of a thread leave in the order of outputs, and one that is computed early waits in its queue for
// one that is computed late. `issues` are the outputs' issue cycles in a thread.
int LeastOutputDepth(const Config& config, const std::vector<int>& issues, int interval);

// Checks all that docs/cgra-machine.md demands of a program. Errors name the tile, the entry and
// what would be right. The levels execute programs that pass.
Status Check(const CgraProgram& program);

// Appends the commands that load a program into a machine; they replace what it held before.
void AppendLoad(const CgraProgram& program, std::vector<uint8_t>* stream);

// Appends the command that writes lanes to one address of a tile memory.
void AppendWrite(const CgraProgram& program, const MemoryContent& content,
                 std::vector<uint8_t>* stream);

// Appends the run of `threads` threads of a loaded program; results of the threads from
// `first_sent` on are sent. `data` has for every thread the lanes of every input, in order.
void AppendRun(const CgraProgram& program, int64_t threads, int64_t first_sent,
               std::span<const int32_t> data, std::vector<uint8_t>* stream);

// Returns the beats of the stream that AppendLoad appends.
int64_t LoadBeats(const CgraProgram& program);

// Returns the program as text, for people and tests: a line for each entry, with names.
std::string Print(const CgraProgram& program);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_PROGRAM_H_
