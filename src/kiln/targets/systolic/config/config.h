// A design point of the systolic family: a weight-stationary array with its buffers, a vector unit
// and a depthwise unit (after Voyager, arXiv 2509.15205). Fields are named like the YAML keys
// (product_rounded is the key `product`); config/keys.cc gives the RTL's parameters.
//
// The units and the data between them (queues are bounded; a buffer bank is handed over as a
// whole):
//
//   memory -> input fetch   -> input banks -> array -> accumulation banks
//   memory -> weight fetch  -> weight banks -> array
//   memory -> input fetch   -> depthwise banks -> depthwise unit -> accumulation banks
//   memory -> operand fetch -> vector unit
//   accumulation banks -> vector unit -> output writer -> memory
#ifndef KILN_TARGETS_SYSTOLIC_CONFIG_CONFIG_H_
#define KILN_TARGETS_SYSTOLIC_CONFIG_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "kiln/numerics/format.h"
#include "kiln/numerics/mac.h"
#include "kiln/support/status.h"

namespace kiln::systolic {

struct UserUnitEntry;  // user_unit.h

// Limits of operand_buffer_words. The least: free space is seen one cycle late, and the last word
// keeps its entry until it has been read. The greatest: the RTL stores entry numbers in a byte.
inline constexpr int kLeastOperandBuffer = 4, kMostOperandBuffer = 256;
// Limits of the widths of AXI4 data buses, in bytes. kLeastMemoryLatency, below, is the least
// memory_latency: a port's own cycles, and a memory that answers two cycles after the address.
inline constexpr int kLeastPort = 8, kMostPort = 128;
inline constexpr int kMostDepthwiseWords = 16;  // limit of depthwise_words_per_cycle
// Limit of vector_stages, and the set that holds every stage.
inline constexpr int kMostVectorStages = 12;
inline constexpr uint32_t kEveryStage = (uint32_t{1} << kMostVectorStages) - 1;
inline constexpr int kLeastAnswer = 2;
inline constexpr int kLeastMemoryLatency = kAxiPortLatency + kLeastAnswer;

// Limit of Config::precisions: a processing element chooses among at most this many pairs of
// operand formats.
inline constexpr int kMostPrecisions = 4;

// The formats of the two operands of a multiply-accumulate.
struct OperandFormats {
  Format input, weight;
  friend bool operator==(const OperandFormats&, const OperandFormats&) = default;
};

// The sizes and formats of one design point. docs/systolic-design-points.md lists the keys with
// their units, ranges and defaults.
struct Config {
  std::string name;

  // Array. Rows hold the reduction (input channels and taps), columns the output channels.
  int array_rows = 16;
  int array_columns = 16;
  int weight_rows_per_cycle =
      1;  // rows of weights shifted into the shadow registers per cycle; divides array_rows

  // Numbers. numerics/mac.h defines the bits of a multiply-accumulate; docs/systolic-numbers.md
  // describes which unit uses which format.
  Format input_format = *FindFormat("int8");   // codes of activations in the array
  Format weight_format = *FindFormat("int8");  // codes of weights
  // Further pairs of operand formats. A matrix instruction may choose one of them in place of the
  // first pair (Instruction::precision; the first pair is precision 0), so every processing element
  // has a multiply-accumulate for each pair. All pairs share psum_format and accumulation_format.
  // All input formats have the same size in memory, and so have all weight formats. The depthwise
  // unit and block scales use the first pair.
  std::vector<OperandFormats> other_precisions;
  // The vector unit reads and writes integers of 8, 16 and 32 bits, with zero points. Without them
  // it has the codes of the array's formats, its own format and fp32.
  bool integer_elements = true;
  // Constant weights of fewer than eight bits may be packed in memory (Convolution::weight_bits).
  bool packed_weights = false;
  // `product: exact` (a fused multiply-add in psum_format) or `product: rounded` (the product is
  // rounded to psum_format first).
  bool product_rounded = false;
  // Format of the sum that moves down the rows of the array over one row tile. Default: int32 if
  // both operands are integers in the sense of mac.h, else bf16.
  Format psum_format = *FindFormat("int32");
  // Format of the accumulation buffer, in which row tiles are added. Default: int32 if the psum is
  // an integer and there are no block scales, else fp32.
  Format accumulation_format = *FindFormat("int32");
  // Sums in a quire. Psums are exact; without block scales they stay exact from the first row tile
  // to the last, and the accumulation buffer holds quires. psum_format is then not used and must
  // not be an integer format.
  bool quire = false;
  // Format of the vector unit: every result of a stage is rounded to it, and values without codes
  // are stored in memory in it. Any signed float that fp32 can represent, rounded to nearest even.
  // If it is narrower than fp32, a fused multiply-add is computed as a product and a sum.
  Format vector_format = *FindFormat("bf16.flush");
  // Microscaling: the number of elements along the reduction that share a scale, a multiple of
  // array_rows. 0 means no block scales.
  int block_size = 0;
  Format scale_format = *FindFormat("e8m0");  // format of the block scales

  // Cycles of a processing element from operands to product (0 or 1) and of an addition to the sum
  // from above (1 or 2; 2 with float sums only): SetDefaultArrayLatencies. Neither changes a bit.
  int array_product_latency = 0;
  int array_sum_latency = 1;
  // Cycles of an addition to an accumulator: 1 to 3, and 1 with integer accumulators or quires. No
  // more than weight_load_cycles(), so that no pass reads an accumulator to which the pass before
  // still adds. Changes no bit.
  int accumulation_latency = 1;

  // Buffers, in words per bank. An input word is array_rows codes, a weight word array_columns
  // codes (one row of a tile), an accumulation word array_columns accumulators. The input and
  // weight buffers have two banks each.
  int input_buffer_words = 256;
  int weight_buffer_words = 256;
  int accumulation_buffer_words = 256;
  int accumulation_buffer_banks =
      2;  // with 1 the array waits while the vector unit drains; with 2 they overlap

  int parameter_buffer_words = 32;  // channel parameters: the most column tiles of a block

  // Vector unit: array_columns lanes; at best one vector word per cycle.
  int vector_stages =
      3;  // programmable stages in sequence; each adds vector_stage_latency cycles to the depth
  int vector_stage_latency = 3;  // cycles
  // Further cycles: of a stage with functions or a divider, and of the conversions at both ends.
  // In YAML, the defaults follow from vector_format and the stages (SetDefaultLatencies).
  int vector_function_latency = 3;
  int vector_convert_latency = 3;
  // The stages that have the approximate functions (including reciprocals) and those that have a
  // divider, for the lanes and for the scalars that rows are reduced to: bit i for stage i. In
  // YAML, a list of stage numbers from 0; the default follows from vector_stages
  // (SetDefaultStages).
  uint32_t vector_function_stages = 0b10;
  uint32_t vector_divide_stages = 0b10;
  int vector_row_buffer_words =
      256;  // words of `lanes` numbers that keep rows on chip between vector passes
  int vector_rows_in_flight =
      8;  // rows that go through a vector pass together; the others hide the latency of each
  int operand_buffer_words =
      24;  // words that can wait for memory operands; limits how far requests run ahead

  // Depthwise unit: it computes array_columns channels (lanes) at once. With 0 multipliers per lane
  // the design point has no depthwise unit.
  int depthwise_multipliers =
      9;  // per lane; a kernel of t taps takes ceil(t / multipliers) cycles per word
  int depthwise_buffer_words = 256;  // words of array_columns codes per bank; two banks
  // Cycles of a rounded addition in the depthwise unit: 1 to 2, and 1 with integer or exact sums
  // (SetDefaultArrayLatencies). Changes no bit.
  int depthwise_sum_latency = 1;
  // The most words that one beat of the input port writes into such a bank: words that are adjacent
  // in memory, of the same pixel or the next one. A power of two; if more than one, they must fit
  // the port.
  int depthwise_words_per_cycle = 1;

  // A user unit in place of the depthwise unit's function (user_unit.h); null if there is none.
  const UserUnitEntry* user_unit = nullptr;

  // Memory ports, one for each stream: bytes per cycle (the width of an AXI4 data bus, 8 to 128),
  // and the cycles from a request to its first data, including the port's own.
  int input_port_bytes = 16;
  int weight_port_bytes = 16;
  int operand_port_bytes = 16;
  int output_port_bytes = 16;
  int memory_latency = 16;                  // cycles, fixed, the same for every port
  int64_t memory_bytes = int64_t{1} << 30;  // size of the address space that programs may use

  // Puts all ports, which then have the same width, on one AXI4 bus with a round-robin grant for
  // reads (docs/systolic.md, "A shared bus").
  bool shared_bus = false;

  // Command processor.
  int instruction_bytes_per_cycle =
      16;  // width of its port; decodes one 16-byte word per cycle, or in two cycles if the width
           // is 8
  int command_queue_depth = 1;  // instructions waiting in front of each unit

  double clock_mhz = 500;  // used only to convert cycles to seconds

  // The number of pairs of operand formats.
  int precisions() const { return 1 + static_cast<int>(other_precisions.size()); }
  const Format& input_format_of(int precision) const {
    return precision == 0 ? input_format
                          : other_precisions[static_cast<size_t>(precision - 1)].input;
  }
  const Format& weight_format_of(int precision) const {
    return precision == 0 ? weight_format
                          : other_precisions[static_cast<size_t>(precision - 1)].weight;
  }
  // Return the largest number of bits of an input code, and of a weight code, over all precisions.
  // This is the width of a lane of a buffer word.
  int input_bits() const;
  int weight_bits() const;
  // Returns the cycles of memory_latency that the ports themselves take.
  int port_latency() const { return shared_bus ? kSharedPortLatency : kAxiPortLatency; }
  int lanes() const { return array_columns; }
  // Returns the bytes that one word of the depthwise unit takes in memory.
  int64_t depthwise_word_bytes() const { return int64_t{array_columns} * input_format.bytes(); }
  // Returns the members of a set of stages that this design point has. Safe for at most
  // kMostVectorStages stages, because the set has 32 bits.
  uint32_t present_stages(uint32_t stages) const {
    return stages & ((uint32_t{1} << vector_stages) - 1);
  }
  // Returns whether the vector format differs from fp32, regardless of its name.
  bool narrow_vector() const;
  // Returns the bits of one accumulator: those of its format, or of the quire.
  int64_t accumulator_bits() const;
  // Whether accumulators are integers or quires.
  bool exact_accumulators() const {
    return accumulation_format.is_integer() || (quire && block_size == 0);
  }
  // Whether every addition to a psum rounds it: psums are neither integers nor quires.
  bool rounded_psums() const { return !psum_format.is_integer() && !quire; }
  int weight_load_cycles() const { return array_rows / weight_rows_per_cycle; }
  int64_t macs_per_cycle() const { return int64_t{array_rows} * array_columns; }
};

// Returns the design point as instructions of one precision see it: its pair is the first and only
// pair. Precisions other than the first have no block scales.
Config AtPrecision(const Config& config, int precision);

// Returns the pairs of a design point as text: "int8 x int8, e4m3 x nf4".
std::string DescribePrecisions(const Config& config);

// Returns the value of one unit of an operand's code: 2^-fraction_bits for fixed point with an
// integer psum, which counts codes; otherwise 1.
float UnitOf(const Format& operand, const Config& config);

// Sets psum_format and accumulation_format to the defaults above (integers if all pairs are
// integers), given the operand formats and block size that the config has.
void SetDefaultSums(Config* config);

// Sets array_product_latency and array_sum_latency to 0 and 1 for integer sums, 1 and 1 for a
// quire, and 1 and 2 for other sums. Sets depthwise_sum_latency to the latter. Sets
// accumulation_latency to 1 for exact accumulators, 2 for psums and accumulators of at most 16 bits
// without scales, and 3 for others, or to weight_load_cycles() if that is less.
void SetDefaultArrayLatencies(Config* config);

// Sets vector_function_stages and vector_divide_stages to {1}, or to all stages if there are fewer
// than three.
void SetDefaultStages(Config* config);

// Returns the least vector_function_latency of a design point: in a short float format
// (numerics/function_unit.h) a function takes six cycles of a stage, or five if the arguments have
// no register of their own (vector_stage_latency below 3).
int LeastFunctionLatency(const Config& config);
// Sets vector_function_latency to the least one, and vector_convert_latency to 3 in a short float
// format, else to 0.
void SetDefaultLatencies(Config* config);

// Returns the format of a scale of an element in memory, and of the element before it is scaled:
// with a vector unit in a short float (IsShortFloat) the fraction bits of the vector format, the
// exponents of fp32 and no subnormal numbers; with other vector formats fp32.
Format FactorFormat(const Config& config);
// Rounds a scale to that format, to nearest, ties to even.
float RoundScale(const Config& config, float scale);

// Returns the rule by which the array sums with the first pair of formats (AtPrecision gives the
// other pairs). `scaled` is true for operands with block scales.
MacRule RuleOf(const Config& config, bool scaled);
// Returns how many taps the depthwise unit sums up in one psum. Rounded psums end with each step of
// depthwise_multipliers taps, and a total in the psum format adds them up in order; other psums
// hold all `taps`.
int64_t DepthwisePsumTaps(const Config& config, int64_t taps);

// Returns the first fault in the formats of a design point, with its key, or nullopt.
struct FormatFault {
  std::string key, fault, remedy;
};
std::optional<FormatFault> FindFormatFault(const Config& config);
// Returns the reason why a design point cannot have its user unit; nullopt if it can, or has none.
std::optional<FormatFault> FindUserUnitFault(const Config& config);
// Returns whether the words that a beat writes into the depthwise unit's banks fit the input port.
// One word always fits.
bool DepthwiseWordsFit(const Config& config);

// Returns whether the array sums products of signed integers of up to 8 bits in integers that wrap,
// so that the order of the sums does not matter.
bool SumsSignedBytes(const Config& config);

// Reads a design point. Errors name file and key: unknown keys, wrong types, sizes out of range.
// Absent keys have the defaults above; `family`, `name`, `array_rows` and `array_columns` are
// required.
StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source);

// Returns the design point as YAML that ParseConfig reads back to the same design point: every key,
// in the order of keys.h.
std::string PrintConfig(const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CONFIG_CONFIG_H_
