// One run of a compiled network on a device: as many images as the machine has rows of its batch.
#ifndef KILN_TARGETS_VTA_NETWORK_RUN_H_
#define KILN_TARGETS_VTA_NETWORK_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/device.h"
#include "kiln/targets/vta/program.h"

namespace kiln::vta {

// Sees pieces of the plan as they begin and end, from the threads that do them.
using PieceObserver = std::function<void(const Piece& piece, bool begins)>;

class NetworkRun {
 public:
  // `device` has the program's memory; images are those of rows 0, 1, ... `threads` do all, of which one is with the
  // device where there are several. All outlive the run.
  NetworkRun(const ProgramParts& program, Device* device, int images, int threads,
             PieceObserver observer)
      : program_(program),
        device_(device),
        threads_(threads),
        observer_(std::move(observer)),
        rows_(images) {
    for (Row& row : rows_) {
      row.slots.resize(program.slots.size());
      row.codes.resize(program.slots.size());
    }
    bytes_.resize(program.plan.pieces.size());
  }

  void SetInput(int image, size_t input, const Tensor& tensor) {
    Fill(program_.inputs[input].slot, tensor, image);
  }
  // Errors: whatever stops a launch, naming its layer, or an operator of the host: of the first piece that has one.
  Status Run();
  // Output i of an image as values and as codes.
  std::pair<Tensor, Tensor> Output(int image, size_t i) const;

  int images() const { return static_cast<int>(rows_.size()); }
  // Steps and the times of their launches, on devices with time.
  const std::vector<std::pair<int, RunTime>>& times() const { return times_; }

 private:
  // What the host knows of one image. Pieces of the plan write different slots.
  struct Row {
    std::vector<Tensor> slots;                 // values
    std::vector<std::optional<Tensor>> codes;  // of slots that were read from the machine
  };

  Status Do(size_t index);
  const Transfer& TransferOf(const Piece& piece) const;
  void Pack(const Transfer& transfer, std::vector<uint8_t>* bytes) const;
  void Unpack(const Transfer& transfer, std::span<const uint8_t> bytes);
  Status Launch(size_t step);
  Status RunOperator(const HostLayer& host, int image);
  // A slot's tensor from what the host has computed, or was given.
  void Fill(int slot, const Tensor& tensor, int image);

  const ProgramParts& program_;
  Device* const device_;
  const int threads_;
  const PieceObserver observer_;
  std::vector<Row> rows_;
  std::vector<std::vector<uint8_t>>
      bytes_;  // of a map, from one piece to the next: kPack's and kRead's
  std::vector<std::pair<int, RunTime>> times_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_NETWORK_RUN_H_
