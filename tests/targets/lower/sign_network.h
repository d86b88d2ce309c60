// A small network with BipolarQuant activations and its outputs in plain integers, for the tests of
// the families that compute signs.
#ifndef KILN_TESTS_TARGETS_LOWER_SIGN_NETWORK_H_
#define KILN_TESTS_TARGETS_LOWER_SIGN_NETWORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/accelerator.h"

namespace kiln {

// x -> [sign ->] conv 3x3, padded -> sign -> max pool -> conv 3x3, padded -> sign -> dense -> y,
// with random weights. Every second bias makes sums of exactly 0 possible.
class SignNetwork {
 public:
  // What comes first: a convolution of codes, the sign of codes, or the sign of fp32 numbers.
  enum class First { kConvolution, kSignOfCodes, kSignOfNumbers };
  static constexpr int kChannels = 2, kSide = 6;
  static constexpr int kMiddle = 5, kLast = 6, kOutputs = 4;

  SignNetwork(First first, uint64_t seed);

  // Returns the network as QONNX has it, or after the passes that accelerators need.
  Graph Own() const;
  Graph ForAccelerators() const;
  // Returns images of numbers that the codes of x hold, [images, kChannels, kSide, kSide].
  Tensor Images(int64_t images, uint64_t seed) const;
  // Returns y of one of them, computed in integers. Adds the number of sums of exactly 0 to
  // `zeros`.
  std::vector<float> Expected(const Tensor& images, int64_t image, int* zeros) const;

 private:
  First first_;
  std::vector<int64_t> conv1_, bias1_, conv2_, bias2_, dense_, bias3_;  // codes; half units
};

// Returns the first node of each kernel that the host runs, with the reason.
std::string OnHost(const Program& program);

// Expects that an accelerator runs the networks of a kind with only the kernels `on_host` on the
// host, and that the functional and the cycle level give the numbers of plain arithmetic and of the
// reference level. Some sums are exactly 0.
void ExpectPlainSigns(const Accelerator& accelerator, SignNetwork::First first,
                      const std::string& on_host);

// Expects that an accelerator rounds sums that the network rounds, and takes the sign then: sums of
// -0.5 and above have the sign of 0.
void ExpectSignsOfRoundedSums(const Accelerator& accelerator);

}  // namespace kiln

#endif  // KILN_TESTS_TARGETS_LOWER_SIGN_NETWORK_H_
