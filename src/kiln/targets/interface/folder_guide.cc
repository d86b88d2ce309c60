#include "kiln/targets/interface/folder_guide.h"

#include <utility>

namespace kiln {

hardware::DesignGuide GuideOf(std::string family, std::string design_point,
                              const FolderContent& content) {
  hardware::DesignGuide guide;
  guide.family = std::move(family);
  guide.design_point = std::move(design_point);
  guide.network = content.network;
  guide.figures = content.figures;
  guide.clock_mhz = content.clock_mhz;
  return guide;
}

}  // namespace kiln
