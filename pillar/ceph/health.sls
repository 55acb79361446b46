#!yaml
# Settings that end a health warning of a new cluster: warning, cause, source. Nothing is muted.
# What only some distributions need stands in the same form in os/.
ceph_health:
  mon:
    auth_allow_insecure_global_id_reclaim:
      value: 'false'
      warning: AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED
      cause: clients from before the fix of CVE-2021-20288 may take over another's id; a new cluster has none
      source: https://docs.ceph.com/en/pacific/security/CVE-2021-20288/
