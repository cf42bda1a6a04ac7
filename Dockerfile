# The image of the action: built by the runner at the start of every job, from this folder, without arguments.
# Works with BuildKit and with the classic builder, hence no RUN --mount and no syntax line. A digest belongs into the
# argument, not into FROM, so that another base of the same name can be used where no registry is reached.
ARG BASE_IMAGE=python:3.13-slim-trixie

FROM ${BASE_IMAGE} AS venv
COPY requirements.lock /tmp/requirements.lock
# .pyc files stay: they halve the time of the imports.
RUN python -m venv --without-pip /opt/venv \
 && pip --python /opt/venv/bin/python install --quiet --no-cache-dir --disable-pip-version-check \
      --require-hashes --only-binary=:all: -r /tmp/requirements.lock \
 && /opt/venv/bin/python -c "import pathlib, sysconfig; \
      pathlib.Path(sysconfig.get_path('purelib'), 'autobuild_action.pth').write_text('/opt/autobuild\n')"

FROM ${BASE_IMAGE}
# setpriv comes with util-linux. Nothing here needs a set-uid program, and agents must find none.
# hadolint ignore=DL3008 # a pinned version disappears from the archive with the next security update
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends ca-certificates git tini util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# The large layer (most of it is the Claude Code CLI) before our source; after apt-get, which BuildKit runs beside
# pip. Never chown or chmod it later: that doubles it.
COPY --from=venv /opt/venv /opt/venv
# The official base sets no locale; git and the tools of the checks want one.
ENV LANG=C.UTF-8
COPY src/autobuild_action /opt/autobuild/autobuild_action
# Whatever umask the checkout had, our files can be read by every session's user, and written by none.
RUN chmod -R a=rX /opt/autobuild && python -m compileall -q /opt/autobuild

# No USER: only root may write to what the runner mounts, and sessions get users of their own. No WORKDIR: the runner
# sets it. -I: neither the workspace nor PYTHON* variables of the workflow decide what is imported; -u: lines in order.
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/venv/bin/python", "-Iu", "-m", "autobuild_action", "action"]
