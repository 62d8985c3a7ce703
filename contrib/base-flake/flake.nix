# SPDX-License-Identifier: MIT
# The tools of boxes with nix=true, at /etc/base-flake: bin/ of the default package comes first on their PATH. The file is
# yours to change. `nix flake lock` (the first start of such a box, too) notes in flake.lock which nixpkgs it is; with the
# same flake.lock each node has the same tools, byte for byte, and with an earlier one those of then.
{
  description = "What coding agents work with";

  inputs.nixpkgs.url = "nixpkgs/nixos-25.05";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      tools = pkgs: with pkgs; [
        curl
        fd
        gh
        git
        gnumake
        jq
        nodejs_22
        python3
        ripgrep
        tree
        unzip
      ];
      environment = system:
        let pkgs = nixpkgs.legacyPackages.${system};
        in {
          default = pkgs.buildEnv {
            name = "ag-box-tools";
            paths = tools pkgs;
            pathsToLink = [ "/bin" "/share" ];
          };
        };
    in {
      packages = nixpkgs.lib.genAttrs systems environment;
    };
}
