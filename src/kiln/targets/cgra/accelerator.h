// The accelerator of the cgra family: one design point behind the interface of all families.
#ifndef KILN_TARGETS_CGRA_ACCELERATOR_H_
#define KILN_TARGETS_CGRA_ACCELERATOR_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/cgra/compile/network_program.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/run_network.h"
#include "kiln/targets/cgra/waveform.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/family.h"
#include "kiln/targets/run/network_accelerator.h"

namespace kiln::cgra {

inline constexpr size_t kMostPictures = 48;

class CgraAccelerator final : public NetworkAccelerator<Config, NetworkProgram> {
 public:
  using NetworkAccelerator::NetworkAccelerator;

  std::string_view family() const override { return "cgra"; }
  std::vector<std::string> ActivationFormats() const override;
  std::vector<std::string> WeightFormats() const override;
  NamedRecipe OwnRecipe() const override;
  Status EmitRtl(const Program& program, const FolderContent& content,
                 const std::filesystem::path& folder) const override;
  StatusOr<Cost> EstimateCost(int node_nm) const override;
  StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const override;
  StatusOr<Traffic> EstimateTraffic(const Program& program) const override;
  // Draws the mappings of the first kMostPictures launches.
  StatusOr<std::vector<KernelPicture>> DrawKernels(const Program& program) const override;
  bool SimulatesMemory() const override { return true; }
  // A product of 32 bits in every lane of every tile.
  double PeakMacsPerCycle() const override { return config_.tiles() * config_.lanes; }
};

// Parses a design point. `source` is the file's name for messages.
StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source);

// Describes the keys of the family's design points.
hardware::FamilyKeys DescribeKeys();

// Returns the family's entry in the registry.
FamilyEntry Entry();

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ACCELERATOR_H_
