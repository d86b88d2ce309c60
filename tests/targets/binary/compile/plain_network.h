// Networks of convolutions for tests of the compiler: their text, and their results in plain
// arithmetic. All scales are powers of two, so that every result is exact.
#ifndef KILN_TESTS_TARGETS_BINARY_COMPILE_PLAIN_NETWORK_H_
#define KILN_TESTS_TARGETS_BINARY_COMPILE_PLAIN_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/random.h"
#include "kiln/targets/binary/config/config.h"
#include "kiln/targets/interface/program.h"

namespace kiln::binary {

// Real numbers of a map, HWC.
struct PlainMap {
  int height = 0, width = 0, channels = 0;
  std::vector<double> values;
  double& at(int y, int x, int c) { return values[Index(y, x, c)]; }
  double at(int y, int x, int c) const { return values[Index(y, x, c)]; }
  size_t Index(int y, int x, int c) const {
    return (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) *
               static_cast<size_t>(channels) +
           static_cast<size_t>(c);
  }
};

// How a value is held: value = (code - zero) * scale.
struct PlainCodes {
  std::string format = "int8";
  double scale = 1;
  int zero = 0;
  int low = -128, high = 127;
  // Returns the annotation in a graph's text.
  std::string Text() const;
};
inline PlainCodes Unsigned(double scale) { return {"uint8", scale, 0, 0, 255}; }
inline PlainCodes Signed(double scale) { return {"int8", scale, 0, -128, 127}; }

// A convolution; weight = code * scale of the output channel.
struct PlainConv {
  int in = 1, out = 1, kernel = 1, stride = 1, pad = 0;
  std::vector<int> codes;  // [out][in][ky][kx]
  std::vector<double> scales;
  double Weight(int n, int c, int ky, int kx) const;
  PlainMap Run(const PlainMap& map) const;
  // The text of the constant and of the node, without the result's type.
  std::string Constant(const std::string& name, int bits) const;
  std::string Node(const std::string& input, const std::string& name) const;
};
PlainConv RandomConv(Random& random, int in, int out, int kernel, int low, int high);

PlainMap RandomMap(Random& random, int height, int width, int channels, const PlainCodes& codes);
PlainMap Relu(PlainMap map);
PlainMap Sum(PlainMap a, const PlainMap& b);
PlainMap Joined(const std::vector<PlainMap>& maps);  // along channels
// Rounds to the codes: to the nearest, halves up.
PlainMap Rounded(PlainMap map, const PlainCodes& codes);

// Parses the nodes of a graph.
Graph GraphOf(const std::string& body);
std::string TypeOf(const PlainMap& map);

// A network compiled for a machine, and its result for a map at the functional level.
struct Compiled {
  std::unique_ptr<Program> program;
  std::vector<double> result;
  std::vector<int64_t> launches;  // of each kernel
  int64_t decided = 0, wrong = 0;
};
Compiled CompileAndRun(const Graph& graph, const Config& config, const PlainMap& map);

}  // namespace kiln::binary

#endif  // KILN_TESTS_TARGETS_BINARY_COMPILE_PLAIN_NETWORK_H_
