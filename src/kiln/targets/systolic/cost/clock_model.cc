// Lists the modules of kiln_systolic that are timed by themselves. The vector unit is timed with
// one stage without functions, so that the paths through sequencer, fetch, buffers and writer are
// whole; its stages are timed one of each kind.
#include "kiln/targets/systolic/cost/clock_model.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "kiln/targets/systolic/config/derived.h"

namespace kiln::systolic {
namespace {

// The rows and columns of the array that is timed. Elements are connected only to their neighbours,
// so that a larger array has no other paths.
constexpr int kTimedArray = 4;

// Returns a parameter that follows others, or nothing if it has the modules' default.
std::string Unless(int64_t by_default, std::string_view parameter, int64_t value) {
  return value == by_default ? "" : fmt::format(",{}={}", parameter, value);
}

// Collects modules.
class Modules {
 public:
  explicit Modules(const Config& config) : config_(config) {}

  // Adds a module unless it is listed; `formats` says whether its operands have the formats of all
  // precisions.
  void Add(std::string_view unit, std::string_view module, std::string parameters,
           bool formats = false) {
    TimedModule timed{.unit = std::string(unit),
                      .module = std::string(module),
                      .parameters = std::move(parameters),
                      .unmeasurable = ""};
    if (formats && config_.precisions() > 1) timed.unmeasurable = "several precisions";
    if (formats && config_.quire) timed.unmeasurable = "quire";
    const bool listed = std::any_of(all_.begin(), all_.end(), [&](const TimedModule& other) {
      return other.module == timed.module && other.parameters == timed.parameters;
    });
    if (!listed) all_.push_back(std::move(timed));
  }
  // Adds a read or write channel.
  void AddPort(std::string_view unit, std::string_view module, int64_t port, int64_t word,
               int64_t tag) {
    Add(unit, module,
        fmt::format("DATA_BYTES={},MAX_BYTES={},TAG_BITS={},OUTSTANDING={}{}", port, word, tag,
                    OutstandingRequests(config_), Memory()));
  }
  // Returns the parameter of the address space if it is not the modules' default.
  std::string Memory() const {
    return Unless(int64_t{1} << 30, "MEMORY_BYTES", config_.memory_bytes);
  }
  std::vector<TimedModule> Take() { return std::move(all_); }

 private:
  const Config& config_;
  std::vector<TimedModule> all_;
};

std::string Operands(const Config& c) {
  return fmt::format("INPUT_FORMAT={},WEIGHT_FORMAT={}", c.input_format.name, c.weight_format.name);
}
std::string Size(const Config& c) {
  return fmt::format("ARRAY_ROWS={},ARRAY_COLUMNS={}", c.array_rows, c.array_columns);
}
// Returns the parameters of the elements' latencies.
std::string Latencies(const Config& c) {
  return Unless(0, "PRODUCT_LATENCY", c.array_product_latency) +
         Unless(1, "SUM_LATENCY", c.array_sum_latency);
}
std::string AccumulationLatency(const Config& c) {
  return Unless(1, "ACCUMULATION_LATENCY", c.accumulation_latency);
}

void AddArray(const Config& c, Modules* modules) {
  const std::string sums = fmt::format("PSUM_FORMAT={}", c.psum_format.name);
  modules->Add("array", "kiln_systolic_array",
               fmt::format("ARRAY_ROWS={0},ARRAY_COLUMNS={0},WEIGHT_ROWS_PER_CYCLE={1},{2},{3},"
                           "PRODUCT_ROUNDED={4}{5}",
                           kTimedArray, std::min(c.weight_rows_per_cycle, kTimedArray), Operands(c),
                           sums, c.product_rounded ? 1 : 0, Latencies(c)),
               true);
  modules->Add("array", "kiln_array_sequencer",
               fmt::format("{},INPUT_BUFFER_WORDS={},ACCUMULATION_BUFFER_WORDS={},"
                           "ACCUMULATION_BUFFER_BANKS={}{}{}",
                           Size(c), c.input_buffer_words, c.accumulation_buffer_words,
                           c.accumulation_buffer_banks, Latencies(c), AccumulationLatency(c)));
  const std::string weights =
      fmt::format("WEIGHT_BUFFER_WORDS={},ARRAY_ROWS={},WEIGHT_ROWS_PER_CYCLE={}",
                  c.weight_buffer_words, c.array_rows, c.weight_rows_per_cycle);
  modules->Add(
      "weight buffer", "kiln_weight_buffer",
      fmt::format("{},ARRAY_COLUMNS={},CODE_BITS={}", weights, c.array_columns, c.weight_bits()));
  modules->Add("weight buffer", "kiln_weight_loader", weights);
  modules->Add(
      "accumulators", "kiln_accumulation_buffer",
      fmt::format("ACCUMULATION_BUFFER_WORDS={},ACCUMULATION_BUFFER_BANKS={},"
                  "ARRAY_COLUMNS={},{},ACCUMULATION_FORMAT={},SCALED={}{}{}",
                  c.accumulation_buffer_words, c.accumulation_buffer_banks, c.array_columns, sums,
                  c.accumulation_format.name, c.block_size > 0 ? 1 : 0,
                  c.block_size > 0 ? fmt::format(",SCALE_FORMAT={}", c.scale_format.name) : "",
                  AccumulationLatency(c)),
      c.quire);
  if (c.block_size > 0) {
    modules->Add("block scales", "kiln_block_scales",
                 fmt::format("{},WEIGHT_ROWS_PER_CYCLE={},INPUT_BUFFER_WORDS={},"
                             "WEIGHT_BUFFER_WORDS={},SCALE_FORMAT={}{}",
                             Size(c), c.weight_rows_per_cycle, c.input_buffer_words,
                             c.weight_buffer_words, c.scale_format.name, Latencies(c)));
  }
  if (c.depthwise_multipliers > 0) {
    modules->Add("depthwise unit", "kiln_depthwise_cluster",
                 fmt::format("ARRAY_COLUMNS={},DEPTHWISE_MULTIPLIERS={},DEPTHWISE_BUFFER_WORDS={},"
                             "DEPTHWISE_WORDS_PER_CYCLE={},WEIGHT_BUFFER_WORDS={},"
                             "ACCUMULATION_BUFFER_WORDS={},ACCUMULATION_BUFFER_BANKS={},{},{},"
                             "PRODUCT_ROUNDED={}{}{}",
                             c.array_columns, c.depthwise_multipliers, c.depthwise_buffer_words,
                             c.depthwise_words_per_cycle, c.weight_buffer_words,
                             c.accumulation_buffer_words, c.accumulation_buffer_banks, Operands(c),
                             sums, c.product_rounded ? 1 : 0, AccumulationLatency(c),
                             Unless(1, "DEPTHWISE_SUM_LATENCY", c.depthwise_sum_latency)),
                 c.quire);
  }
}

void AddFetch(const Config& c, Modules* modules) {
  const std::string blocks =
      fmt::format("BLOCK_SIZE={},SCALE_BITS={}", c.block_size, c.scale_format.bits);
  modules->Add("input fetch", "kiln_input_fetch",
               fmt::format("{},INPUT_BITS={},INPUT_BUFFER_WORDS={},DEPTHWISE_BUFFER_WORDS={},"
                           "DEPTHWISE_WORDS_PER_CYCLE={},{}",
                           Size(c), c.input_bits(), c.input_buffer_words, c.depthwise_buffer_words,
                           c.depthwise_words_per_cycle, blocks));
  modules->AddPort("input fetch", "kiln_read_channel", c.input_port_bytes, InputRequestBytes(c),
                   InputTagBits(c));
  modules->Add("weight fetch", "kiln_weight_fetch",
               fmt::format("{},WEIGHT_BITS={},WEIGHT_BUFFER_WORDS={},{}", Size(c), c.weight_bits(),
                           c.weight_buffer_words, blocks));
  modules->AddPort("weight fetch", "kiln_read_channel", c.weight_port_bytes, WeightRequestBytes(c),
                   WeightTagBits(c));
  modules->Add("channel parameters", "kiln_parameter_fetch",
               fmt::format("ARRAY_COLUMNS={},PARAMETER_BUFFER_WORDS={}", c.array_columns,
                           c.parameter_buffer_words));
}

// Adds a stage of each kind: of the lanes, and of the scalars that rows are reduced to.
void AddStages(const Config& c, Modules* modules) {
  for (const bool scalar : {false, true}) {
    for (const bool functions : {false, true}) {
      for (const bool divider : {false, true}) {
        const uint32_t stages = StagesWith(c, functions, divider);
        if (stages == 0) continue;
        modules->Add("vector unit", "kiln_vector_stage",
                     fmt::format("LANES={},LATENCY={},EXTRA={},SCALAR={},SLOTS={},ROWS={},"
                                 "HAS_FUNCTIONS={},HAS_DIVIDER={},VECTOR_FORMAT={}",
                                 scalar ? 1 : c.lanes(), c.vector_stage_latency,
                                 functions || divider ? c.vector_function_latency : 0,
                                 scalar ? 1 : 0, ProgramSlots(c), c.vector_rows_in_flight,
                                 functions ? 1 : 0, divider ? 1 : 0, c.vector_format.name));
      }
    }
  }
}

void AddVectorUnit(const Config& c, Modules* modules) {
  modules->Add(
      "vector unit", "kiln_vector_unit",
      fmt::format(
          "ARRAY_COLUMNS={},VECTOR_STAGES=1,VECTOR_STAGE_LATENCY={},VECTOR_FUNCTION_LATENCY={},"
          "VECTOR_CONVERT_LATENCY={},VECTOR_FUNCTION_STAGES=0,VECTOR_DIVIDE_STAGES=0,"
          "VECTOR_ROW_BUFFER_WORDS={},VECTOR_ROWS_IN_FLIGHT={},ACCUMULATION_BUFFER_WORDS={},"
          "ACCUMULATION_BUFFER_BANKS={},OPERAND_PORT_BYTES={},OUTPUT_PORT_BYTES={},"
          "OPERAND_BUFFER_WORDS={},SLOTS={},{},ACCUMULATION_FORMAT={},VECTOR_FORMAT={},"
          "BLOCK_SIZE={},SCALE_FORMAT={}",
          c.array_columns, c.vector_stage_latency, c.vector_function_latency,
          c.vector_convert_latency, c.vector_row_buffer_words, c.vector_rows_in_flight,
          c.accumulation_buffer_words, c.accumulation_buffer_banks, c.operand_port_bytes,
          c.output_port_bytes, c.operand_buffer_words, ProgramSlots(c), Operands(c),
          c.accumulation_format.name, c.vector_format.name, c.block_size, c.scale_format.name),
      true);
  AddStages(c, modules);
  modules->AddPort("vector unit", "kiln_read_channel", c.operand_port_bytes, VectorWordBytes(c),
                   OperandPortTagBits(c));
  modules->AddPort("vector unit", "kiln_write_channel", c.output_port_bytes, VectorWordBytes(c), 1);
}

void AddHead(const Config& c, Modules* modules) {
  const uint32_t all = c.present_stages(kEveryStage);
  modules->Add(
      "command processor", "kiln_command_processor",
      fmt::format("BLOCK_SIZE={},PRECISIONS={},{},INPUT_BUFFER_WORDS={},WEIGHT_BUFFER_WORDS={},"
                  "ACCUMULATION_BUFFER_WORDS={},DEPTHWISE_MULTIPLIERS={},DEPTHWISE_BUFFER_WORDS={},"
                  "VECTOR_STAGES={},VECTOR_FUNCTION_STAGES={},VECTOR_DIVIDE_STAGES={},"
                  "VECTOR_ROWS_IN_FLIGHT={},INSTRUCTION_BYTES_PER_CYCLE={},COMMAND_QUEUE_DEPTH={},"
                  "PREFETCH_WORDS={},SLOTS={}{}",
                  c.block_size, c.precisions(), Size(c), c.input_buffer_words,
                  c.weight_buffer_words, c.accumulation_buffer_words, c.depthwise_multipliers,
                  c.depthwise_buffer_words, c.vector_stages, c.vector_function_stages & all,
                  c.vector_divide_stages & all, c.vector_rows_in_flight,
                  c.instruction_bytes_per_cycle, c.command_queue_depth, PrefetchWords(c),
                  ProgramSlots(c), modules->Memory()));
}

}  // namespace

std::vector<TimedModule> TimedModulesOf(const Config& config) {
  Modules modules(config);
  AddArray(config, &modules);
  AddFetch(config, &modules);
  AddVectorUnit(config, &modules);
  AddHead(config, &modules);
  std::vector<TimedModule> all = modules.Take();
  for (TimedModule& module : all) {
    if (config.user_unit != nullptr && module.module == "kiln_depthwise_cluster")
      module.unmeasurable = "a user unit";
  }
  if (config.shared_bus) {
    all.push_back({.unit = "shared bus",
                   .module = "kiln_shared_bus",
                   .parameters = "",
                   .unmeasurable = "its ports are not timed alone"});
  }
  return all;
}

}  // namespace kiln::systolic
