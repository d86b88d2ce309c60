// Kernels that add up over threads: matrix products and convolutions, means, and maxima of windows.
//
// A run has a thread for every step of the sum. In a thread, `vectors` vectors of one operand meet
// `blocks` vectors of the other; every product is added to an accumulator that a loop of distance 1
// keeps. Only the last thread sends its accumulators. A second launch turns sums into codes:
//
//   code = (min(max(sum, least), most) * multiplier + constant) >> shift
//
// where each channel has its own four numbers. The bounds keep the product within 32 bits and the
// result within the codes in use; the constant contains bias, zero points and half a code.
#ifndef KILN_TARGETS_CGRA_COMPILE_SUMS_H_
#define KILN_TARGETS_CGRA_COMPILE_SUMS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/compile/kernel.h"
#include "kiln/targets/cgra/compile/value_codes.h"

namespace kiln::cgra {

// `groups` independent products: sum over k of a(g, m, k) * b(g, k, n).
struct SumOfProducts {
  int64_t groups = 1, rows = 1, columns = 1, depth = 1;
  int a = 0, b = 0;  // buffers
  // Elements of the buffers; -1: a zero.
  std::function<int64_t(int64_t g, int64_t m, int64_t k)> a_at;
  std::function<int64_t(int64_t g, int64_t k, int64_t n)> b_at;
  std::function<int64_t(int64_t g, int64_t m, int64_t n)> sum_at;  // element of the result
  // The same as text, of the names g, m, k and n. There is no name g if there is one group.
  IndexText a_text, b_text, sum_text;
  // What the machine subtracts from the elements of a and b, and what an element that is not there
  // is: the code of zero.
  int32_t a_centre = 0, b_centre = 0;
  int32_t a_zero = 0, b_zero = 0;
};

// `outputs` sums, maxima or minima over `depth` elements of one buffer.
struct Reduction {
  bool maximum = false;
  bool minimum = false;
  int64_t outputs = 1, depth = 1;
  int input = 0;
  std::function<int64_t(int64_t output, int64_t k)> at;  // -1: none
  IndexText text;                                        // the same, of the names `output` and k
  int32_t otherwise = 0;                                 // in its place
};

// How sums become codes: element e has the real value sum * factors[c] + offsets[c] with
// c = channel(e), held within [low, high].
struct Requantisation {
  std::vector<double> factors, offsets;
  std::vector<int64_t> greatest;  // of the sums' magnitudes
  std::function<int64_t(int64_t element)> channel;
  std::string channel_text;  // the same, of the name e
  double low = 0, high = 0;  // real bounds
};

// Shapes of a launch of products that the compiler chooses from.
struct Tiling {
  bool lanes_on_rows = false;  // lanes are rows; else columns
  int vectors = 1;             // of the operand that all lanes share
  int blocks = 1;              // of lanes
  int unroll = 1;              // steps of the sum in one thread
};

// Return the graphs. Inputs: for each step the vectors, then the blocks.
ComputationGraph GraphOfProducts(const SumOfProducts& problem, const Tiling& tiling,
                                 std::string_view name);
ComputationGraph GraphOfReduction(const Reduction& problem, const Tiling& tiling,
                                  std::string_view name);

// Return the launch of a graph that GraphOf... made with the same tiling; its results go to the
// buffer `sums`. The mapped graph is not set.
Launch LaunchOfProducts(const SumOfProducts& problem, const Tiling& tiling, int64_t lanes,
                        int sums);
Launch LaunchOfReduction(const Reduction& problem, const Tiling& tiling, int64_t lanes, int sums);

// Return the tilings to try on a machine with this number of outputs: every accumulator of a run
// needs an output of its own.
std::vector<Tiling> TilingsOf(const SumOfProducts& problem, int64_t lanes, int outputs);
std::vector<Tiling> TilingsOf(const Reduction& problem, int64_t lanes, int outputs);

// The launch that turns the buffer `sums` into codes of a result, and its graph. Constants become
// buffers of the kernel.
struct RequantisedSums {
  ComputationGraph graph;
  Launch launch;  // without its mapped graph
};
// Errors: refusals, if a channel's numbers do not fit 32 bits.
StatusOr<RequantisedSums> Requantise(const Requantisation& how, const ValueCodes& codes,
                                     int64_t elements, int64_t lanes, int sums, int result,
                                     std::string_view name, MachineKernel* kernel);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_SUMS_H_
