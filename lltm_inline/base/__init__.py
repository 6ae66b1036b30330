"""What every room uses: checked arguments, files, progress, stopping, what a traceback shows.

arguments, flags, files   what people pass, looked at before anything is done
progress, stop, shell     a live line, a way to end what runs, and the notebook around it
device                    where a kernel can run, and from which text
packages                  which packages are there, and how to get the others
above                     what a room leaves to one above it: how a result looks, how an extension comes in
trace                     the user's own lines of a traceback
loaded                    what lies at an address of this process

`lltm_inline.errors`, beside this room, has every exception.
"""
